import Foundation
import Testing

/// Bodies of requests that are redirected.
@Suite struct RedirectBodyTests {
  private static let limit = 10 << 10
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private var configuration: String { world.configuration(world.standard(), top: "limits: {replay_body: 10KiB}") }

  private func pattern(_ count: Int) -> String {
    String(repeating: "0123456789abcdef", count: count / 16 + 1).prefix(count) + ""
  }

  @Test(arguments: [307, 308])
  func `a body of 'replay_body' is repeated, one of a byte more is not`(_ status: Int) throws {
    try withProxy(configuration) { proxy in
      let client = try proxy.connect()
      for isChunked in [false, true] {
        for count in [0, 1, Self.limit - 1, Self.limit, Self.limit + 1, 300_000] {
          let (name, target) = try world.redirecting(status) { "/echo?id=\($0)" }
          let body = pattern(count)
          if isChunked {
            var chunks = ""
            var rest = body[...]
            while !rest.isEmpty {
              let piece = rest.prefix(4_000)
              chunks += String(piece.utf8.count, radix: 16) + "\r\n\(piece)\r\n"
              rest = rest.dropFirst(4_000)
            }
            try client.send(
              "POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n"
            )
          } else {
            try client.send(ProxyProcess.request("POST", "http://api.test/?id=\(name)", body: body))
          }
          let answer = try client.readAnswer()
          #expect(try world.only(name).body_length == count)
          guard count <= Self.limit else {
            #expect(answer.status == status && answer["Location"] == "/echo?id=\(target)", "\(count): \(answer.head)")
            #expect(answer.details == "redirect relayed: the body was too large to be kept")
            #expect(try world.origin.exchanges(target).isEmpty)
            continue
          }
          #expect(answer.status == 200, "\(count): \(answer.head)")
          let received = try world.only(target)
          #expect(
            received.method == "POST" && received.body == body && received["Content-Length"] == (isChunked ? nil : "\(count)"))
        }
      }
    }
  }

  @Test func `elsewhere, trailers have none of the fields that are withheld`() throws {
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting(307) { "https://\(Redirecting.cdn):\(world.port)/echo?id=\($0)" }
      let client = try proxy.connect()
      try client.send(
        "POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n"
          + "Trailer: X-Pay-Key, Authorization, X-Sum\r\n\r\n"
          + "5\r\nhello\r\n0\r\nX-Pay-Key: app-5ecret\r\nauthorization: Bearer app-5ecret\r\nX_Pay_Key: app-5ecret\r\n"
          + "Cookie: a=app-5ecret\r\nReferer: http://api.test/5ecret\r\norigin: http://5ecret.test\r\nX-Sum: 1\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      let received = try world.only(target)
      #expect(received.body == "hello" && received["Trailer"] == nil && !received.hasSecret, "\(received.raw_head)")
      #expect(received.trailers.count == 1, "\(received.trailers)")
    }
  }

  @Test func `a body that is dropped may have any size, and the connection stays in step`() throws {
    try withProxy(configuration) { proxy in
      let client = try proxy.connect()
      for count in [Self.limit, Self.limit + 1, 1 << 20] {
        let (name, target) = try world.redirecting(303) { "/echo?id=\($0)" }
        try client.send(ProxyProcess.request("POST", "http://api.test/?id=\(name)", body: pattern(count)))
        #expect(try client.readAnswer().received().method == "GET")
        #expect(try world.only(target).body_length == 0)
      }
      let line = try #require(proxy.process.awaitLine { $0.contains(#""bytes_in":1048576"#) })
      #expect(line.contains(#""redirects":1"#))
    }
  }

  @Test func `a redirect that comes before the body: one that will be kept follows it, others are relayed`() throws {
    try withProxy(configuration) { proxy in
      for (count, isChunked, status, expected) in [
        (Self.limit, false, 307, 200), (Self.limit + 1, false, 307, 307), (100, true, 307, 307), (100, false, 303, 303),
      ] {
        let (name, target) = (Origin.newName(), Origin.newName())
        try world.origin.script(name, [Redirecting.answer(status, "/upload?id=\(target)"), .awaitClose])
        let client = try proxy.connect()
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(count)"
        try client.send("POST http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\n\(framing)\r\n\r\n")
        if expected == 200 {
          try world.origin.await(target)
          try client.send(pattern(count))
        }
        let answer = try client.readAnswer()
        #expect(answer.status == expected, "\(count) \(status): \(answer.head)")
        if expected == 200 {
          #expect(try world.only(target).body == pattern(count))
        } else {
          #expect(
            answer.details == "redirect relayed: the body had not arrived" && answer["Connection"] == "close", "\(answer.head)")
          #expect(try world.origin.exchanges(target).isEmpty)
        }
      }
    }
  }

  @Test func `an app that waits for 100 gets it once, from whoever wants the body`() throws {
    try withProxy(configuration) { proxy in
      let (name, target) = (Origin.newName(), Origin.newName())
      try world.origin.script(name, [Redirecting.answer(307, "/upload?id=\(target)"), .awaitClose])
      let client = try proxy.connect()
      try client.send(
        "PUT http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
      #expect(try client.readHead().status == 100)
      try client.send("hello")
      #expect(try client.readAnswer().status == 200)
      #expect(try world.only(target).body == "hello" && world.only(name).body_length == 0)
    }
  }

  @Test func `trailers go to the target, too`() throws {
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting(308) { "/echo?id=\($0)" }
      let client = try proxy.connect()
      try client.send(
        "PUT http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n"
          + "3\r\nabc\r\n0\r\nX-Sum: 1\r\nAuthorization: Bearer 5ecret\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      let received = try world.only(target)
      #expect(received.body == "abc" && received.trailers == [["X-Sum", "1"]])
    }
  }
}
