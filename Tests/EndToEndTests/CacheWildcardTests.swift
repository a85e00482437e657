import Foundation
import Testing

/// Below a wildcard each host has answers of its own, with its own name in them.
@Suite struct CacheWildcardTests {
  @Test func `what was rewritten for one host is never sent to another`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let place = "https://localhost:\(origin.ports.https)"
    let fields = "Location: \(place)/next\r\nContent-Location: \(place)/here\r\nLink: <\(place)/more>; rel=next"
    try origin.answers(name, "Cache-Control: public, max-age=600", fields, bodies: ["a", "b", "c", "d"])
    let text = """
      admin: 127.0.0.1:0
      upstreams:
        - {match: ["*.wide.test", plain.test], origin: "\(place)", credential: api, cache: {share: all}}
      credentials: {api: {bearer: {token: \(Configuration.token)}}}

      """
    try withProxy(text) { proxy throws in
      let hosts = [("one.wide.test", "a"), ("two.wide.test", "b"), ("deep.one.wide.test", "c"), ("plain.test", "d")]
      for isHit in [false, true] {
        for (host, body) in hosts {
          let answer = try proxy.ask("http://\(host)/?id=\(name)")
          #expect(answer.text == body)
          #expect(answer.cacheStatus?.hasPrefix(isHit ? "hit" : "fwd=uri-miss; stored") == true, "\(answer.head)")
          #expect(answer["Location"] == "http://\(host)/next", "\(answer.head)")
          #expect(answer["Content-Location"] == "http://\(host)/here")
          #expect(answer["Link"] == "<http://\(host)/more>; rel=next")
        }
      }
      #expect(try proxy.ask("http://ONE.wide.test/?id=\(name)").text == "a")
      #expect(try origin.exchanges(name).count == 4)
      // They are one origin: a write to one host drops what all of them have.
      #expect(try proxy.ask("POST", "http://one.wide.test/?id=\(name)", body: "x").status == 200)
      #expect(try proxy.metric("authproxy_cache_objects") == 0)
    }
  }
}
