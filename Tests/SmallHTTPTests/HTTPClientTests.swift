import EventIO
import Foundation
import SmallHTTP
import Testing

@Suite(.timeLimit(.minutes(1))) struct HTTPClientTests {
  /// Serves one connection: reads a head, sends this, closes.
  private func peer(saying text: String, keepsOpen: Bool = false) throws -> Address {
    let listener = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    try listener.listen()
    Thread.detachNewThread {
      var ready = pollfd(fd: listener.descriptor, events: Int16(POLLIN), revents: 0)
      poll(&ready, 1, 10_000)
      let connection = accept(listener.descriptor, nil, nil)
      var space = [UInt8](repeating: 0, count: 4096)
      _ = recv(connection, &space, space.count, 0)
      _ = send(connection, text, text.utf8.count, Int32(MSG_NOSIGNAL))
      if keepsOpen { _ = recv(connection, &space, space.count, 0) }
      close(connection)
      listener.close()
    }
    return listener.address
  }

  private func reply(_ text: String, keepsOpen: Bool = false) throws -> HTTPClient.Reply {
    try HTTPClient.get("/", from: try peer(saying: text, keepsOpen: keepsOpen), milliseconds: 10_000).get()
  }

  @Test func `the server's answer comes whole`() throws {
    let reply = try HTTPClient.get("/x", from: try Loopback.echo().address, milliseconds: 10_000).get()
    #expect(reply.status == 200)
    #expect(reply.text == "GET /x []")
  }

  @Test func `a body ends by length, by its last chunk or with the connection, and interim heads are passed over`() throws {
    #expect(try reply("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", keepsOpen: true).text == "hi")
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"
    #expect(try reply(chunks, keepsOpen: true).text == "hi")
    #expect(try reply("HTTP/1.0 200 OK\r\n\r\nhi").text == "hi")
    #expect(try reply("HTTP/1.1 204 No Content\r\n\r\n", keepsOpen: true).status == 204)
    #expect(
      try reply("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", keepsOpen: true).status == 404)
  }

  @Test(arguments: [
    ("", "no HTTP answer"), ("SSH-2.0-x\r\n", "no HTTP answer"), ("HTTP/1.1 200 OK\r\nContent-Len", "no HTTP answer"),
    ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", "the response was cut off"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n", "the response was cut off"),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", "the response's body is too large or malformed"),
  ])
  func `what is no whole answer is a failure`(_ text: String, _ failure: String) throws {
    #expect(throws: HTTPClient.Failure.self) { try reply(text) }
    guard case .failure(let found) = HTTPClient.get("/", from: try peer(saying: text), milliseconds: 10_000) else { return }
    #expect(found.description == failure)
  }

  @Test func `a closed port, and a silent server, are failures`() throws {
    let gone = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    let address = gone.address
    gone.close()
    guard case .failure(let refused) = HTTPClient.get("/", from: address, milliseconds: 10_000) else {
      Issue.record("it was answered")
      return
    }
    #expect(refused.description == "Connection refused")
    guard case .failure(let late) = HTTPClient.get("/", from: try peer(saying: "", keepsOpen: true), milliseconds: 50) else {
      Issue.record("it was answered")
      return
    }
    #expect(late.description == "no response in time")
  }
}
