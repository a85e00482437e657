import Foundation
import Testing

/// 1xx responses, and Expect: 100-continue, which never hangs.
@Suite struct InterimResponseTests {
  static let ok = Origin.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

  private func ask(_ client: RawConnection, _ name: String) throws {
    try client.send(
      "POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
  }

  @Test func `103 and its fields are relayed before the final answer`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [
        .send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"), .gate("on"),
        .send("HTTP/1.1 102 Processing\r\n\r\n"), Self.ok,
      ])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      let hint = try client.readHead()
      #expect(hint.status == 103)
      #expect(hint["Link"] == "</a.css>; rel=preload")
      try origin.open("on", of: name)
      let answer = try client.readAnswer()
      #expect(answer.interim.map(\.status) == [102])
      #expect(answer.text == "ok")
    }
  }

  @Test func `an HTTP/1.0 client gets no 1xx`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), Self.ok])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send("GET http://api.test/?id=\(name) HTTP/1.0\r\nHost: api.test\r\n\r\n")
      #expect(try client.readHead().status == 200)
    }
  }

  @Test func `the origin's 100 lets the app send its body`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 100 Continue\r\n\r\n"), .readBody, Self.ok])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try ask(client, name)
      let seen = try origin.await(name, gate: "on")[0]
      #expect(seen["Expect"]?.lowercased() == "100-continue")
      #expect(client.staysSilent(for: 0.1))
      try origin.open("on", of: name)
      #expect(try client.readHead().status == 100)
      try client.send("hello")
      let answer = try client.readAnswer()
      #expect(answer.text == "ok")
      #expect(try origin.exchanges(name)[0].body == "hello")
    }
  }

  @Test func `the origin's refusal spares the app its body`() throws {
    let origin = try Origin.shared()
    for status in [413, 417, 403] {
      let name = Origin.newName()
      try origin.script(name, [.send("HTTP/1.1 \(status) No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"), .close])
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try ask(client, name)
        let answer = try client.readAnswer()
        #expect(answer.status == status)
        #expect(answer.interim.isEmpty)
        #expect(try origin.exchanges(name)[0].body_length == 0)
      }
    }
  }

  @Test func `an origin that answers first and then reads the body gets it`() throws {
    let origin = try Origin.shared()
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"
    // The app does not wait for the 100, or waits and takes the head for it.
    for waits in [false, true] {
      let name = Origin.newName()
      try origin.script(name, [.send(head), .readBody, .send("ok")])
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try ask(client, name)
        if !waits { try client.send("hello") }
        // It may not know how to go on with a connection on which it sent nothing.
        let answer = try client.readHead()
        #expect(answer.status == 200 && answer["Connection"]?.lowercased() == "close")
        if waits { try client.send("hello") }
        #expect(String(decoding: try client.readToEnd().bytes, as: UTF8.self) == "ok")
        #expect(try origin.exchanges(name)[0].body == "hello")
      }
    }
  }

  @Test func `where the origin stays silent for a second, the proxy says 100 itself`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, Self.ok])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      let start = Date()
      try ask(client, name)
      #expect(try client.readHead().status == 100)
      let waited = Date().timeIntervalSince(start)
      #expect(waited > 0.8 && waited < 3, "\(waited) s")
      try client.send("hello")
      #expect(try client.readAnswer().text == "ok")
      #expect(try origin.exchanges(name)[0].body == "hello")
    }
  }

  @Test func `an app that does not wait for the 100 is served as well`() throws {
    let origin = try Origin.shared()
    for steps in [[Origin.Step.send("HTTP/1.1 100 Continue\r\n\r\n"), .readBody, Self.ok], [.readBody, Self.ok]] {
      let name = Origin.newName()
      try origin.script(name, steps)
      try withProxy(try Configuration.https()) { proxy in
        let client = try proxy.connect()
        try ask(client, name)
        try client.send("hello")
        #expect(try client.readAnswer().text == "ok")
        #expect(try origin.exchanges(name)[0].body == "hello")
        try client.send(ProxyProcess.request("GET", "http://api.test/"))
        #expect(try client.readAnswer().status == 200)
      }
    }
  }

  @Test func `an HTTP/1.0 client's Expect is ignored`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, Self.ok])
    try withProxy(try Configuration.https()) { proxy in
      let client = try proxy.connect()
      try client.send(
        "POST http://api.test/?id=\(name) HTTP/1.0\r\nHost: api.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello")
      #expect(try client.readHead().status == 200)
    }
  }

  @Test func `curl uploads with Expect through the proxy`() throws {
    try withProxy(try Configuration.https()) { proxy in
      let done = try ChildProcess.run(
        "curl",
        [
          "-sSf", "-x", "http://127.0.0.1:\(proxy.port)", "-H", "Expect: 100-continue", "-d",
          String(repeating: "x", count: 100_000), "http://api.test/upload",
        ])
      #expect(done.status == .exited(0), "\(done.errors)")
      #expect(done.output.contains("100000"))
    }
  }
}
