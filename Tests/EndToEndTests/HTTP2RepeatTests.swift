import Foundation
import Testing

/// What the origin has not processed is repeated, whatever its method; all else as for a lost 1.1 connection.
@Suite struct HTTP2RepeatTests {
  private static let refused = 7

  @Test func `a refused POST is repeated`() throws {
    let origin = try HTTP2Origin()
    try origin.script("busy", [.awaitEnd, .reset(Self.refused)], [.reset(Self.refused)], HTTP2Origin.Step.answer("done"))
    try withProxy(origin.configuration()) { proxy throws in
      #expect(try proxy.ask("POST", "http://api.test/?id=busy", body: "body").text == "done")
      #expect(try origin.tell().of("busy").map(\.body).last == "body")
      #expect(try origin.tell().connections.count == 1)
    }
  }

  @Test func `a request that is refused again and again is 503`() throws {
    let origin = try HTTP2Origin()
    try origin.script("busy", [.awaitEnd, .reset(Self.refused)])
    try withProxy(origin.configuration()) { proxy throws in
      let answer = try proxy.ask("POST", "http://api.test/?id=busy", body: "body")
      expectOwnAnswer(answer, 503, "connection_limit_reached")
      #expect(answer["Proxy-Status"]?.contains(#"details="REFUSED_STREAM, 3 times""#) == true, "\(answer.head)")
      #expect(try origin.tell().of("busy").count == 4)
    }
  }

  @Test func `refused behind a byte of an answer is not repeated`() throws {
    let origin = try HTTP2Origin()
    try origin.script("late", [.awaitEnd, .head([[":status", "103"]]), .reset(Self.refused)])
    try origin.script("cut", [.awaitEnd, .head([[":status", "200"]]), .data("a"), .reset(Self.refused)])
    try withProxy(origin.configuration()) { proxy throws in
      expectOwnAnswer(try proxy.ask("POST", "http://api.test/?id=late", body: "x"), 502, "http_protocol_error")
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=cut"))
      #expect(try client.readHead().status == 200)
      #expect(!String(decoding: try client.readToEnd().bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
      let log = try origin.tell()
      #expect(log.of("late").count == 1 && log.of("cut").count == 1)
    }
  }

  @Test func `GOAWAY in both phases loses nothing`() throws {
    let origin = try HTTP2Origin()
    try origin.script("first", [.awaitEnd, .goAway(0x7fff_ffff, 0, "soon"), .gate("now")] + HTTP2Origin.Step.answer("one"))
    try withProxy(origin.configuration()) { proxy throws in
      let first = try proxy.connect()
      try first.send(ProxyProcess.request("POST", "http://api.test/?id=first", body: "x"))
      try origin.await(.standing, of: "now")
      // It takes no new ones, and those that are there end.
      let told = try proxy.ask("POST", "http://api.test/", body: "y").told()
      #expect(told.connection == 2)
      try origin.play([.goAway(1, 0, "now")], on: 1)
      try origin.open("now")
      #expect(try first.readAnswer().text == "one")
      try origin.await(.closed)
      #expect(try origin.tell().requests.count == 2)
    }
  }

  @Test func `what is above the last stream of GOAWAY is repeated elsewhere, what is below it is not lost`() throws {
    let origin = try HTTP2Origin()
    try origin.script("kept", [.gate("kept")] + HTTP2Origin.Step.answer("kept"))
    try origin.script("moved", [.gate("never")], HTTP2Origin.Step.answer("moved"))
    try withProxy(origin.configuration()) { proxy throws in
      let kept = try proxy.connect()
      try kept.send(ProxyProcess.request("POST", "http://api.test/?id=kept", body: "x"))
      try origin.await(.standing, of: "kept")
      let moved = try (0..<5).map { _ in try proxy.connect() }
      try moved[0].send(ProxyProcess.request("POST", "http://api.test/?id=moved", body: "x"))
      try origin.await(.standing, of: "never")
      try origin.play([.goAway(1, 0, "")], on: 1)
      #expect(try moved[0].readAnswer().text == "moved")
      try origin.open("kept")
      #expect(try kept.readAnswer().text == "kept")
      #expect(try origin.tell().of("moved").map(\.connection) == [1, 2])
    }
  }

  @Test func `a POST that could have been processed is never sent twice`() throws {
    let origin = try HTTP2Origin()
    let plays: [(String, [HTTP2Origin.Step])] = [
      ("goaway", [.awaitEnd, .goAway(-1, 2, "broken"), .close]), ("close", [.awaitEnd, .close]),
      ("abort", [.awaitEnd, .abort]),
      ("reset", [.awaitEnd, .reset(2)]), ("cancel", [.awaitEnd, .reset(8)]), ("early", [.reset(0)]),
    ]
    for play in plays { try origin.script(play.0, play.1) }
    try withProxy(origin.configuration()) { proxy throws in
      for play in plays {
        // Also on a connection that has been used before.
        for _ in 0..<2 {
          #expect(try proxy.ask("http://api.test/").status == 200)
          let before = try origin.tell().of(play.0).count
          let answer = try proxy.ask("POST", "http://api.test/?id=\(play.0)", body: "x")
          expectOwnAnswer(answer, 502, "http_protocol_error")
          #expect(try origin.tell().of(play.0).count == before + 1, "\(play.0)")
        }
      }
      let answer = try proxy.ask("POST", "http://api.test/?id=reset", body: "x")
      #expect(answer["Proxy-Status"]?.contains("INTERNAL_ERROR") == true, "\(answer.head)")
    }
  }

  @Test func `a GET that met a reset or a lost connection is repeated once, alone`() throws {
    let origin = try HTTP2Origin()
    for (name, end) in [("reset", HTTP2Origin.Step.reset(2)), ("lost", .abort)] {
      try origin.script(name, [.awaitEnd, end], HTTP2Origin.Step.answer("again"))
      try origin.script(name + "-ever", [.awaitEnd, end])
    }
    try withProxy(origin.configuration()) { proxy throws in
      for name in ["reset", "lost"] {
        #expect(try proxy.ask("http://api.test/").status == 200)
        #expect(try proxy.ask("http://api.test/?id=\(name)").text == "again")
        #expect(try proxy.ask("http://api.test/").status == 200)
        expectOwnAnswer(try proxy.ask("http://api.test/?id=\(name)-ever"), 502, "http_protocol_error")
        #expect(try origin.tell().of(name + "-ever").count == 2)
      }
    }
  }

  @Test func `a poisonous request takes down no others twice`() throws {
    let origin = try HTTP2Origin()
    try origin.script("poison", [.awaitEnd, .gate("kill"), .abort])
    try origin.script("other", [.gate("never")], [.gate("kill"), .gate("done")] + HTTP2Origin.Step.answer("whole"))
    try withProxy(origin.configuration()) { proxy throws in
      let others = try (0..<5).map { _ in try proxy.connect() }
      // The first play is for the first of them only.
      for other in others { try other.send(ProxyProcess.request("GET", "http://api.test/?id=other")) }
      try origin.await(.requests, 5, of: "other")
      let poison = try proxy.connect()
      try poison.send(ProxyProcess.request("GET", "http://api.test/?id=poison"))
      try origin.await(.standing, of: "kill")
      try origin.open("kill")
      expectOwnAnswer(try poison.readAnswer(), 502, "http_protocol_error")
      try origin.open("done")
      for other in others { #expect(try other.readAnswer().text == "whole") }
      let log = try origin.tell()
      let second = log.of("poison")[1].connection
      #expect(log.requests.count { $0.connection == second } == 1)
    }
  }

  @Test func `after ENHANCE_YOUR_CALM new connections wait`() throws {
    let origin = try HTTP2Origin()
    try origin.script("calm", [.awaitEnd, .goAway(0, 0xb, "too_many_things"), .close])
    try withProxy(origin.configuration()) { proxy throws in
      let begun = Date()
      let answer = try proxy.ask("POST", "http://api.test/?id=calm", body: "x")
      expectOwnAnswer(answer, 503, "connection_limit_reached")
      // 100, 200 and 400 ms.
      #expect(-begun.timeIntervalSinceNow > 0.65)
      #expect(try origin.tell().of("calm").count == 4)
      #expect(proxy.process.awaitLine(where: { $0.contains("ENHANCE_YOUR_CALM") && $0.contains("too_many_things") }) != nil)
      #expect(try proxy.ask("http://api.test/").status == 200)
    }
  }
}
