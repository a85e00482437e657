import Foundation
import Testing

/// Bodies of requests that the proxy signs for AWS, verified by botocore.
@Suite struct SigV4BodyTests {
  private static let s3 = "service: s3, region: eu-central-1, \(AWSServer.keys)"
  private static let api = "service: execute-api, region: eu-central-1, \(AWSServer.keys)"
  private static let large = String(repeating: "0123456789abcdef", count: 12_500)

  private func ask(_ proxy: ProxyProcess, _ fields: [String], chunked pieces: [String]) throws -> Answer {
    let client = try proxy.connect()
    try client.send(ProxyProcess.request("PUT", "http://api.test/k", fields + ["Transfer-Encoding: chunked"]))
    for piece in pieces where !piece.isEmpty { try client.send(String(piece.utf8.count, radix: 16) + "\r\n\(piece)\r\n") }
    try client.send("0\r\n\r\n")
    return try client.readAnswer()
  }

  @Test func `a body is hashed ahead of it, and leaves with Content-Length`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.api)) { proxy throws in
      #expect(try proxy.ask("POST", "http://api.test/", body: Self.large).status == 200)
      #expect(try ask(proxy, [], chunked: [Self.large, "tail"]).status == 200)
      #expect(try proxy.ask("POST", "http://api.test/", body: "").status == 200)
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/", ["Content-Length: 5", "Expect: 100-continue"]))
      #expect(try client.readHead().status == 100)
      try client.send("hello")
      #expect(try client.readAnswer().status == 200)
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", "", "", ""])
      #expect(seen.map(\.length) == [200_000, 200_004, 0, 5])
      #expect(seen.allSatisfy { $0.all("Transfer-Encoding") == [] && $0.payload == "" })
    }
  }

  @Test func `one over hashed_body is 413, and leaves no byte at the origin`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.api, top: "limits: {hashed_body: 64KiB}")) { proxy throws in
      let answer = try proxy.ask("POST", "http://api.test/", body: Self.large)
      #expect(answer.status == 413 && answer.proxyError == "http_request_error")
      #expect(try server.seen().isEmpty)
    }
  }

  @Test func `for s3 a body with a length streams unsigned over TLS, and is hashed otherwise`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3, isTLS: true)) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/k", body: Self.large).status == 200)
      #expect(try ask(proxy, [], chunked: [Self.large]).status == 200)
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", ""])
      #expect(seen[0].payload == "UNSIGNED-PAYLOAD" && seen[1].payload == seen[1].sha256)
    }
    try withProxy(server.configuration(Self.s3)) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/k", body: Self.large).status == 200)
      let seen = try #require(try server.seen().first)
      #expect(seen.why == "" && seen.payload == seen.sha256)
    }
    try withProxy(server.configuration(Self.s3 + ", payload: unsigned")) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/k", body: "x").status == 200)
      #expect(try server.seen().map(\.payload) == ["UNSIGNED-PAYLOAD"])
    }
  }

  @Test func `what the app declares stands; with payload signed what it left unsigned is hashed`() throws {
    let server = try AWSServer()
    // Of `hello`.
    let hash = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    let unsigned = "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD"
    try withProxy(server.configuration(Self.s3)) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/k", ["X-Amz-Content-Sha256: \(hash)"], body: "hello").status == 200)
      #expect(try proxy.ask("PUT", "http://api.test/k", ["X-Amz-Content-Sha256: \(hash)"], body: "other").status == 403)
      #expect(try proxy.ask("PUT", "http://api.test/k", [unsigned], body: "hello").status == 200)
      #expect(try server.seen().map(\.why) == ["", "hash", ""])
      let twice = try proxy.ask("PUT", "http://api.test/k", [unsigned, unsigned], body: "hello")
      #expect(twice.status == 400)
      #expect(try server.seen().isEmpty)
    }
    try withProxy(server.configuration(Self.s3 + ", payload: signed", isTLS: true)) { proxy throws in
      #expect(try proxy.ask("PUT", "http://api.test/k", ["A: b", unsigned, "C: d"], body: "hello").status == 200)
      #expect(try proxy.ask("PUT", "http://api.test/k", body: "hello").status == 200)
      let stream = try proxy.ask(
        "PUT", "http://api.test/k", ["X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER"], body: "0\r\n\r\n")
      #expect(stream.status == 501)
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", ""] && seen.map(\.payload) == [hash, hash])
      #expect(seen[0].all("A") == ["b"] && seen[0].all("C") == ["d"])
    }
  }

  @Test func `signed chunks are signed again in passing, with a length and without one`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3)) { proxy throws in
      let pieces = [String(repeating: "a", count: 65_536), String(repeating: "b", count: 9_000), "c"]
      let body = AWSServer.chunks(pieces)
      let fields = [
        AWSServer.dummy("s3"), "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "Content-Encoding: aws-chunked",
        "X-Amz-Decoded-Content-Length: 74537",
      ]
      #expect(try proxy.ask("PUT", "http://api.test/k", fields, body: body).status == 200)
      #expect(try ask(proxy, fields, chunked: [String(body.prefix(70_000)), String(body.dropFirst(70_000))]).status == 200)
      let trailer = AWSServer.chunks(pieces, trailers: ["x-amz-checksum-crc32:AAAAAA=="])
      #expect(
        try proxy.ask(
          "PUT", "http://api.test/k",
          [
            "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "X-Amz-Decoded-Content-Length: 74537",
            "X-Amz-Trailer: x-amz-checksum-crc32",
          ], body: trailer
        ).status == 200)
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", "", ""])
      #expect(seen.map(\.length) == [body.utf8.count, body.utf8.count, trailer.utf8.count])
      #expect(Set(seen.map(\.data)).count == 1 && seen[0].all("Content-Encoding") == ["aws-chunked"])
      #expect(seen[1].all("Transfer-Encoding") == ["chunked"] && seen[0].all("Content-Length") == ["\(body.utf8.count)"])
    }
  }

  @Test func `an unsigned stream with trailers passes byte for byte`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration(Self.s3, isTLS: true)) { proxy throws in
      let body = "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"
      let fields = [
        "X-Amz-Content-Sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER", "X-Amz-Trailer: x-amz-checksum-crc32",
        "X-Amz-Decoded-Content-Length: 5", "Content-Encoding: aws-chunked",
      ]
      #expect(try proxy.ask("PUT", "http://api.test/k", fields, body: body).status == 200)
      let seen = try #require(try server.seen().first)
      #expect(seen.why == "" && seen.length == body.utf8.count)
      #expect(seen.signed.contains("x-amz-decoded-content-length") && seen.signed.contains("x-amz-trailer"))
    }
  }

  @Test func `chunks that do not add up are 400 or 413, and never whole at the origin`() throws {
    let server = try AWSServer()
    let dead = String(repeating: "d", count: 64)
    try withProxy(server.configuration(Self.s3)) { proxy throws in
      for (body, length, status) in [
        ("zz;chunk-signature=\(dead)\r\n", 1, 400), ("1;chunk-signature=short\r\na\r\n", 1, 400),
        ("5\r\nhello\r\n0\r\n\r\n", 5, 400),
        (AWSServer.chunks(["hello"]), 6, 400), (AWSServer.chunks(["hello"]), 4, 400), ("", 0, 400),
        ("100001;chunk-signature=\(dead)\r\n", 1_048_577, 413), (AWSServer.chunks(["hello"]) + "more", 5, 400),
        (String(AWSServer.chunks(["hello"]).dropLast(2)), 5, 400),
      ] {
        let answer = try proxy.ask(
          "PUT", "http://api.test/k",
          ["X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "X-Amz-Decoded-Content-Length: \(length)"], body: body)
        #expect(answer.status == status && answer.proxyError == "http_request_error", "\(body.prefix(30)): \(answer.status)")
      }
      #expect(try server.seen().isEmpty)
      // The connection of a cut upload is not used again.
      #expect(try proxy.ask("http://api.test/k").status == 200)
      #expect(try server.seen().map(\.why) == [""])
    }
  }
}
