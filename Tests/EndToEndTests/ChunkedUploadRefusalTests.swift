import Foundation
import Testing

/// A chunked body's size is unknown. If it did not arrive completely with its head, the proxy asks the origin before it sends
/// the body.
@Suite struct ChunkedUploadRefusalTests {
  private static let size = 300_000

  private static func head(_ target: String, _ fields: String = "") -> String {
    "POST \(target) HTTP/1.1\r\nHost: api.test\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n"
  }

  private static func chunks(_ total: Int, of size: Int) -> String {
    var text = ""
    var left = total
    while left > 0 {
      let count = min(left, size)
      text += "\(String(count, radix: 16))\r\n\(String(repeating: "c", count: count))\r\n"
      left -= count
    }
    return text
  }

  @Test func `a refusal before the body costs nothing, wherever the first segment ends`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    try withProxy(try server.configuration()) { proxy in
      let body = Self.chunks(Self.size, of: 10_000) + "0\r\n\r\n"
      // After the head, inside the first size line, inside its data, after it, and well into the body.
      each([0, 2, 100, 10_008, 60_000]) { cut throws in
        #expect(try proxy.ask(server.url()).status == 200)
        try server.set(#"{"revoke": true, "forget": true}"#)
        let client = try proxy.connect()
        try client.send(Self.head(server.url()) + body.prefix(cut))
        // The first attempt is over before the rest comes.
        #expect(try eventually { try server.state().requests.count == 1 }, "\(cut)")
        try client.send(String(body.dropFirst(cut)))
        let answer = try client.readAnswer()
        #expect(answer.status == 200, "\(cut): \(answer.head)")
        #expect(answer.interim.isEmpty, "the app has not asked for a 100")
        #expect(try answer.received().body_length == Self.size, "\(cut)")
        #expect(try server.state().uses.map(\.body_length) == [0, Self.size], "\(cut)")
      }
    }
  }

  @Test func `with a length, too, the first bytes may come with the head`() throws {
    let server = try TokenServer(#"{"early": true}"#)
    try withProxy(try server.configuration()) { proxy in
      each([1, 8_000, 30_000]) { cut throws in
        #expect(try proxy.ask(server.url()).status == 200)
        try server.set(#"{"revoke": true, "forget": true}"#)
        let client = try proxy.connect()
        try client.send(
          "POST \(server.url()) HTTP/1.1\r\nHost: api.test\r\nContent-Length: \(Self.size)\r\n\r\n"
            + String(repeating: "l", count: cut))
        #expect(try eventually { try server.state().requests.count == 1 }, "\(cut)")
        try client.send(String(repeating: "l", count: Self.size - cut))
        let answer = try client.readAnswer()
        #expect(answer.status == 200, "\(cut): \(answer.head)")
        #expect(try server.state().uses.map(\.body_length) == [0, Self.size], "\(cut)")
      }
    }
  }

  @Test func `a body that is whole with its head goes out without a question, one that is not goes with`() throws {
    let server = try TokenServer()
    try withProxy(try server.configuration()) { proxy in
      each(
        [
          (Self.chunks(10, of: 3) + "0\r\n\r\n", "", nil), (Self.chunks(20_000, of: 5_000) + "0\r\nX-Sum: 1\r\n\r\n", "", nil),
          (Self.chunks(10, of: 3), "0\r\n\r\n", "100-continue"), ("", Self.chunks(10, of: 10) + "0\r\n\r\n", "100-continue"),
          ("a", "\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n", "100-continue"),
        ] as [(String, String, String?)]
      ) { (first, rest, expected) throws in
        let client = try proxy.connect()
        try client.send(Self.head(server.url()) + first)
        if !rest.isEmpty {
          #expect(client.staysSilent(for: 0.1))
          try client.send(rest)
        }
        let received = try client.readAnswer().received()
        #expect(received["Expect"] == expected)
        #expect(received.body_length == (first.count > 1000 ? 20_000 : 10))
        #expect(received.trailers.count == ((first + rest).contains("X-Sum") ? 1 : 0))
        try client.send(ProxyProcess.request("GET", server.url()))
        #expect(try client.readAnswer().status == 200, "the connection is out of step")
      }
    }
  }

  @Test func `without a credential the origin is not asked`() throws {
    let free = try Configuration.https().replacingOccurrences(of: "    credential: api\n", with: "")
    try withProxy(free) { proxy in
      let client = try proxy.connect()
      try client.send(Self.head("http://api.test/echo"))
      #expect(client.staysSilent(for: 0.1))
      try client.send("3\r\nabc\r\n0\r\n\r\n")
      let received = try client.readAnswer().received()
      #expect(received["Expect"] == nil && received.body == "abc")
    }
  }

  @Test func `a 417 to the question has the body sent again from its first byte`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try server.origin.script(
      name, [.send("HTTP/1.1 417 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"), .close],
      [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration()) { proxy in
      let client = try proxy.connect()
      try client.send(Self.head("http://api.test/?id=\(name)") + Self.chunks(5_000, of: 1_000))
      try server.origin.await(name, count: 2)
      try client.send(Self.chunks(Self.size - 5_000, of: 1_000) + "0\r\n\r\n")
      #expect(try client.readAnswer().text == "ok")
      let exchanges = try server.origin.exchanges(name)
      #expect(exchanges.map { $0["Expect"] } == ["100-continue", nil])
      #expect(exchanges[1].body_length == Self.size)
    }
  }

  @Test func `an origin that stays silent gets its body after a second, whole, and is not asked again`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try server.origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try withProxy(try server.configuration()) { proxy in
      for expected in ["100-continue", nil] {
        let client = try proxy.connect()
        try client.send(Self.head("http://api.test/?id=\(name)") + Self.chunks(3_000, of: 1_000))
        #expect(client.staysSilent(for: 0.1))
        try client.send("0\r\n\r\n")
        #expect(try client.readAnswer().text == "ok")
        let last = try #require(try server.origin.exchanges(name).last)
        #expect(last["Expect"] == expected)
        #expect(last.body == String(repeating: "c", count: 3_000))
      }
    }
  }

  @Test func `a pooled connection that turns out closed loses nothing of what came with the head`() throws {
    let origin = try Origin()
    let server = try TokenServer(origin: origin)
    try withProxy(try server.configuration(top: "threads: 1")) { proxy in
      for _ in 0..<5 {
        #expect(try proxy.ask(server.url()).status == 200)
        try origin.dropConnections("https")
        let client = try proxy.connect()
        try client.send(Self.head(server.url()).replacingOccurrences(of: "POST", with: "PUT") + Self.chunks(3_000, of: 1_000))
        #expect(client.staysSilent(for: 0.05))
        try client.send(Self.chunks(3_000, of: 1_000) + "0\r\n\r\n")
        let answer = try client.readAnswer()
        #expect(answer.status == 200, "\(answer.head)\(answer.text)")
        #expect(try answer.received().body == String(repeating: "c", count: 6_000))
      }
    }
  }

  @Test func `a chunk that is malformed in what came with the head is 400, and nothing of it goes out`() throws {
    let server = try TokenServer()
    let name = Origin.newName()
    try withProxy(try server.configuration()) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      let client = try proxy.connect()
      try client.send(Self.head("http://api.test/?id=\(name)") + "3;\r\nabc\r\n0\r\n\r\n")
      #expect(try client.readAnswer().status == 400)
      #expect(try client.readToEnd().bytes.isEmpty)
      #expect(try server.origin.exchanges(name).isEmpty)
      #expect(try proxy.ask(server.url()).status == 200)
    }
  }
}
