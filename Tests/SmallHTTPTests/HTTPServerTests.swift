import Dispatch
import EventIO
import Foundation
import SmallHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPServerTests {
  private let close = "Connection: close\r\n\r\n"

  @Test func `a request is answered, a HEAD without the body`() throws {
    let server = try Loopback.echo()
    let answer = try ask("GET /a?b HTTP/1.1\r\nHost: x\r\n" + close, of: server)
    #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(answer.hasSuffix("Content-Length: 11\r\nConnection: close\r\n\r\nGET /a?b []"))
    let head = try ask("HEAD / HTTP/1.1\r\nHost: x\r\n" + close, of: server)
    #expect(head.hasSuffix("Content-Length: 9\r\nConnection: close\r\n\r\n"))
  }

  @Test func `bodies are read by length and in chunks, whatever pieces they come in`() throws {
    let server = try Loopback.echo()
    for body in ["Content-Length: 5\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"] {
      let connection = try RawSocket(server.address)
      for byte in "POST /in HTTP/1.1\r\nHost: x\r\n\(body)" { connection.send(String(byte)) }
      #expect(connection.read(until: "]").hasSuffix("\r\n\r\nPOST /in [hello]"))
    }
  }

  @Test func `pipelined requests are answered in their order, also from another thread`() throws {
    let server = try Loopback { request, reply in
      let delay = request.target == "/slow" ? 50 : 0
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(delay)) { @Sendable in
        reply(ServedAnswer(200, text: request.target + "."))
      }
    }
    let answers = try ask(
      "GET /slow HTTP/1.1\r\nHost: x\r\n\r\nPOST /two HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
        + "GET /three HTTP/1.1\r\nHost: x\r\n" + close, of: server)
    let places = ["/slow.", "/two.", "/three."].map { answers.range(of: $0)?.lowerBound }
    #expect(places.allSatisfy { $0 != nil })
    #expect(places.compactMap { $0 } == places.compactMap { $0 }.sorted())
    #expect(answers.hasSuffix("/three."))
  }

  @Test func `a client that waits for 100 gets it before it sends the body`() throws {
    let connection = try RawSocket(try Loopback.echo().address)
    connection.send("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(connection.read(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    connection.send("hi")
    #expect(connection.read(until: "]").hasSuffix("POST / [hi]"))
  }

  @Test(arguments: [
    ("garbage\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n", 413),
    ("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno\r\n", 400),
    ("GET /\(String(repeating: "a", count: 300)) HTTP/1.1\r\nHost: x\r\n\r\n", 414),
    ("GET / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "a", count: 300))\r\n\r\n", 431),
  ])
  func `what cannot be served is refused, and the connection closed`(_ request: String, _ status: Int) throws {
    var limits = HTTPServer.Limits()
    limits.body = 8
    limits.head = 256
    let answer = try ask(request, of: try Loopback.echo(limits: limits))
    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(answer)")
    #expect(answer.contains("\r\nConnection: close\r\n"))
  }

  @Test func `more connections than it takes wait until one has ended`() throws {
    var limits = HTTPServer.Limits()
    limits.connections = 2
    let server = try Loopback.echo(limits: limits)
    var idle = try (0..<2).map { _ in try RawSocket(server.address) }
    for connection in idle {
      connection.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(connection.read(until: "]").hasSuffix("GET /first []"))
    }
    let third = try RawSocket(server.address)
    third.send("GET /third HTTP/1.1\r\nHost: x\r\n" + close)
    idle.removeAll()
    #expect(third.read().hasSuffix("GET /third []"))
  }

  @Test func `a request that does not come in time ends its connection`() throws {
    var limits = HTTPServer.Limits()
    limits.patience = 50
    let connection = try RawSocket(try Loopback.echo(limits: limits).address)
    connection.send("GET / HT")
    #expect(connection.read() == "")
  }
}
