import Foundation
import Glibc
import Testing

/// An origin that ends its side right after a response takes no more requests, with whichever kind of end. The next request
/// uses another connection at once.
@Suite struct ClosedBehindAnswerTests {
  /// Each piece is a record; all of them are in one segment.
  private static let answers = [
    ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "own"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nown\r\n0\r\n\r\n"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nown\r\n0\r\n\r\n"],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nown\r\n", "0\r\nX-T: 1\r\n\r\n"],
    // Bytes that are no part of it.
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "3\r\nown\r\n0\r\n\r\nmore"],
    ["HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", "ownmore"],
  ]

  @Test(arguments: [Wire.tls12, .tls13]) func `close_notify in one flight with the answer, and no FIN`(wire: Wire) throws {
    let origin = try Origin.hostile()
    try withProxy(try Self.configuration(wire, origin)) { proxy in
      for answer in Self.answers {
        let name = Origin.newName()
        try origin.script(name, answer.map { .record($0) } + [.goodbye, .flush, .awaitClose])
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        #expect(try client.readAnswer().text == "own")
        let connection = try origin.exchanges(name)[0].connection
        try Self.expectServed(client, notOver: connection)
      }
    }
  }

  @Test(arguments: Wire.allCases) func `a FIN in one flight with the answer, and no close_notify`(wire: Wire) throws {
    let origin = try Origin.hostile()
    try withProxy(try Self.configuration(wire, origin)) { proxy in
      for answer in Self.answers {
        let name = Origin.newName()
        try origin.script(name, answer.map { .record($0) } + [.stand(name), .flush, .abort])
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        #expect(try origin.standing(name, count: 1) == 1)
        // The proxy gets both at once.
        try proxy.pause()
        try origin.release(name)
        let connection = try origin.await(name, state: "closed")[0].connection
        proxy.goOn()
        #expect(try client.readAnswer().text == "own")
        try Self.expectServed(client, notOver: connection)
      }
    }
  }

  /// A POST, which the proxy does not send twice.
  private static func expectServed(_ client: RawConnection, notOver connection: Int) throws {
    let start = Date()
    try client.send(ProxyProcess.request("POST", "http://api.test/echo", body: "pay"))
    let answer = try client.readAnswer()
    #expect(answer.status == 200, "\(answer.head)")
    #expect(try answer.received().connection > connection)
    #expect(Date().timeIntervalSince(start) < 1)
  }

  private static func configuration(_ wire: Wire, _ origin: Origin) throws -> String {
    "threads: 1\nupstreams:\n  - {match: api.test, origin: \"\(try wire.url(origin))\"}\n"
  }
}
