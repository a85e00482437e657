import Foundation
import Testing

/// TCP urgent data has no meaning in HTTP. A receive stops at its mark (tcp(7)), which says nothing about further bytes. The
/// urgent byte itself is not part of the stream. The proxy is stopped meanwhile, so it finds everything at once.
@Suite struct UrgentDataTests {
  private static let time = 3.0

  @Test(arguments: Wire.allCases) func `a body from the origin arrives whole around an urgent byte`(wire: Wire) throws {
    let origin = try Origin.hostile()
    let head = "HTTP/1.1 200 OK\r\n"
    let answers = [
      (head + "Content-Length: 10\r\n\r\n01234", "56789"),
      (head + "Transfer-Encoding: chunked\r\n\r\na\r\n01234", "56789\r\n0\r\n\r\n"),
      (head + "Content-Length: 10\r\n", "\r\n0123456789"),
    ]
    try withProxy(try Self.configuration(wire, origin)) { proxy in
      let client = try proxy.connect()
      client.timeout = Self.time
      for (before, behind) in answers {
        let name = Origin.newName()
        try origin.script(
          name, [.stand("begin-\(name)"), .record(before), .record(behind), .urgent(1), .stand("sent-\(name)")])
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        #expect(try origin.standing("begin-\(name)", count: 1) == 1)
        try proxy.pause()
        try origin.release("begin-\(name)")
        #expect(try origin.standing("sent-\(name)", count: 1) == 1)
        proxy.goOn()
        try origin.release("sent-\(name)")
        #expect(try client.readAnswer().text == "0123456789")
      }
    }
  }

  @Test(arguments: Wire.allCases) func `a body from the app arrives whole around an urgent byte`(wire: Wire) throws {
    let origin = try Origin.hostile()
    let head = "POST http://api.test/echo HTTP/1.1\r\nHost: api.test\r\n"
    try withProxy(try Self.configuration(wire, origin)) { proxy in
      let client = try proxy.connect()
      client.timeout = Self.time
      for (before, behind) in [
        (head + "Content-Length: 10\r\n\r\n01234", "56789"),
        (head + "Transfer-Encoding: chunked\r\n\r\na\r\n01234", "56789\r\n0\r\n\r\n"),
        (head, "Content-Length: 10\r\n\r\n0123456789"),
      ] {
        try proxy.pause()
        try client.send(before, urgentByteThen: behind)
        proxy.goOn()
        #expect(try client.readAnswer().received().body == "0123456789")
      }
    }
  }

  @Test func `a tunnel carries what is before and behind an urgent byte, both ways`() throws {
    let listener = try TestListener()
    let target = "127.0.0.1:\(listener.port)"
    try withProxy("threads: 1\nupstreams: []\nforbidden_addresses: []\nconnect: {allow: [\"\(target)\"]}\n") { proxy in
      let client = try proxy.connect()
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200)
      let server = try listener.accept()
      for (one, other) in [(client, server), (server, client)] {
        other.timeout = Self.time
        try proxy.pause()
        try one.send("01234", urgentByteThen: "56789")
        proxy.goOn()
        #expect(try other.read(10) == Array("0123456789".utf8))
      }
    }
  }

  private static func configuration(_ wire: Wire, _ origin: Origin) throws -> String {
    "threads: 1\nupstreams:\n  - {match: api.test, origin: \"\(try wire.url(origin))\"}\n"
  }
}
