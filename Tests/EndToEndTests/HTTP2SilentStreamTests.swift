import Foundation
import Testing

/// A stream that is silent, and a connection that is.
@Suite struct HTTP2SilentStreamTests {
  @Test func `a request that times out in silence asks whether its connection is alive, and the next one goes elsewhere`()
    throws
  {
    let origin = try HTTP2Origin()
    try origin.script("mute", [.mute])
    let top = "threads: 1\nadmin: 127.0.0.1:0\ntimeouts: {response_head: 2s, connect: 2s}"
    try withProxy(origin.configuration(top: top)) { proxy throws in
      // Its SETTINGS may come behind the request: they are no sign of life later.
      let lost = try proxy.connect()
      try lost.send(ProxyProcess.request("POST", "http://api.test/?id=mute", body: "x"))
      try origin.await(.requests, of: "mute")
      // Others on it are in the same place, and none of them is sent twice.
      let other = try proxy.connect()
      try other.send(ProxyProcess.request("POST", "http://api.test/?id=other", body: "y"))
      expectOwnAnswer(try lost.readAnswer(), 504, "connection_read_timeout")
      let begun = Date()
      #expect(try proxy.ask("POST", "http://api.test/?id=next", body: "z").told().connection == 2)
      #expect(-begun.timeIntervalSinceNow < 2.5)
      #expect([502, 504].contains(try other.readAnswer().status))
      #expect(
        try eventually { try proxy.metric(#"authproxy_upstream_pings_total{upstream="api.test",result="dead"}"#) == 1 })
      #expect(try origin.tell().requests.filter { $0.connection == 2 }.map(\.id) == ["next"])
    }
  }

  @Test func `an answer that takes twelve seconds is not asked for`() throws {
    let origin = try HTTP2Origin()
    try origin.script("slow", [.awaitEnd, .gate("on")] + HTTP2Origin.Step.answer("ok"))
    try withProxy(origin.configuration(top: "threads: 1\ntimeouts: {response_head: 60s, stall: 60s}")) { proxy throws in
      let client = try proxy.connect()
      client.timeout = 30
      try client.send(ProxyProcess.request("POST", "http://api.test/?id=slow", body: "x"))
      try origin.await(.standing, of: "on")
      // The silence itself is what is tested.
      usleep(12_000_000)
      try origin.open("on")
      #expect(try client.readAnswer().text == "ok")
      let connection = try origin.tell().connections[0]
      #expect(connection.frames["PING"] ?? 0 == 0, "\(connection.frames)")
    }
  }
}
