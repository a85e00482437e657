import Foundation
import Testing

/// Connections to one http origin, in absolute-form and through tunnels of their own.
@Suite struct ParentPoolTests {
  private func configuration(_ parent: ParentServer, more: String = "") throws -> String {
    let port = try Origin.shared().ports.http
    return """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))"}}
      upstreams:
        - {match: plain.test, origin: "http://localhost:\(port)"}
        - {match: kept.test, origin: "http://localhost:\(port)", host_header: app}
      threads: 1
      \(more)

      """
  }

  @Test func `a reload that leaves the way keeps its tunnels`() throws {
    let parent = try ParentServer()
    try withProxy(try configuration(parent)) { proxy throws in
      for _ in 0..<2 { #expect(try proxy.ask("http://kept.test/echo").status == 200) }
      #expect(try parent.news().map(\.kind) == ["connect"])
      try proxy.reload(try configuration(parent, more: "timeouts: {stall: 59s}"))
      #expect(try proxy.ask("http://kept.test/echo").status == 200)
      #expect(try parent.news().isEmpty)
      #expect(try parent.set("{}").open == 1)
      try proxy.reload(try configuration(parent, more: "bind: [127.0.0.1]"))
      #expect(try eventually(seconds: 5) { try parent.set("{}").open == 0 })
    }
  }

  @Test func `both kinds of connections to an origin share its limit`() throws {
    let parent = try ParentServer()
    let more = "limits: {upstream_connections: 1}\ntimeouts: {connect: 3s}"
    try withProxy(try configuration(parent, more: more)) { proxy throws in
      for host in ["plain.test", "kept.test", "plain.test", "kept.test"] {
        #expect(try proxy.ask("http://\(host)/echo").status == 200)
        #expect(try eventually(seconds: 5) { try parent.set("{}").open == 1 })
      }
      // A request of the one kind that uses the only place, and one of the other that waits for it.
      let clients = try ["plain.test", "kept.test"].map { host in
        let client = try proxy.connect()
        try client.send("GET http://\(host)/slowly/20 HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        return client
      }
      for client in clients { #expect(try client.readAnswer().status == 200) }
    }
  }
}
