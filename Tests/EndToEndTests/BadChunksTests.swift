import Foundation
import Testing

/// Uploads in signed chunks that are none: refused, never whole at the origin, and the proxy goes on.
@Suite struct BadChunksTests {
  private static let dead = String(repeating: "d", count: 64)
  private static let end = "0;chunk-signature=\(dead)\r\n"
  private static let trailer = "x-amz-checksum-crc32:AAAAAA==\r\n"
  private static let mark = "x-amz-trailer-signature:\(dead)\r\n"

  private static func chunk(_ size: String, _ data: String = "a\r\n", _ signature: String = dead) -> String {
    "\(size);chunk-signature=\(signature)\r\n\(data)"
  }

  private static let bad: [(name: String, body: String, status: Int)] = [
    ("a size of 64 bits", chunk("ffffffffffffffff"), 413), ("a size of 63 bits", chunk("7fffffffffffffff"), 413),
    ("a size of 17 digits", chunk("00000000000000001"), 400),
    ("a size without an end", String(repeating: "1", count: 100_000), 400),
    ("a negative size", chunk("-1"), 400), ("a size with a plus", chunk("+1"), 400), ("a size in 0x", chunk("0x1"), 400),
    ("a size behind a space", chunk(" 1"), 400), ("no size", chunk(""), 400),
    ("no CRLF behind the data", chunk("1", "ab\r\n") + end + "\r\n", 400),
    ("LF behind the data", chunk("1", "a\n") + end + "\r\n", 400),
    ("no CRLF at the end", chunk("1") + end, 400),
    ("a signature of 63 digits", chunk("1", "a\r\n", String(dead.dropLast())), 400),
    ("a signature of 65 digits", chunk("1", "a\r\n", dead + "d"), 400),
    ("a signature of 128 digits", chunk("1", "a\r\n", dead + dead), 400),
    ("trailers in the form without", chunk("1") + end + trailer + mark + "\r\n", 400),
  ]
  private static let badTrailers: [(name: String, body: String, status: Int)] = [
    ("one more trailer", chunk("1") + end + trailer + "x-more:1\r\n" + mark + "\r\n", 400),
    ("a trailer twice", chunk("1") + end + trailer + trailer + mark + "\r\n", 400),
    ("a trailer behind the signature", chunk("1") + end + mark + trailer + "\r\n", 400),
    ("no signature", chunk("1") + end + trailer + "\r\n", 400),
    ("a short signature", chunk("1") + end + trailer + mark.replacing("dd\r\n", with: "d\r\n") + "\r\n", 400),
    ("a long signature", chunk("1") + end + trailer + mark.replacing("dd\r\n", with: "ddd\r\n") + "\r\n", 400),
    ("a trailer without an end", chunk("1") + end + "x-amz-checksum-crc32:" + String(repeating: "x", count: 100_000), 400),
  ]

  private func fields(trailers: Bool) -> [String] {
    let form = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    return ["X-Amz-Content-Sha256: \(form)\(trailers ? "-TRAILER" : "")", "X-Amz-Decoded-Content-Length: 1"]
      + (trailers ? ["X-Amz-Trailer: x-amz-checksum-crc32"] : [])
  }

  @Test(arguments: [false, true], [false, true])
  func `every bad form is refused, with a length and in chunks of the transfer`(trailers: Bool, isChunked: Bool) throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: s3, region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      for (name, body, status) in trailers ? Self.badTrailers : Self.bad {
        let client = try proxy.connect()
        let fields = fields(trailers: trailers) + (isChunked ? ["Transfer-Encoding: chunked"] : [])
        try client.send(ProxyProcess.request("PUT", "http://api.test/k", fields, body: isChunked ? nil : body))
        if isChunked { try client.send("\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n") }
        let answer = try client.readAnswer()
        #expect(answer.status == status && answer.proxyError == "http_request_error", "\(name): \(answer.head)")
      }
      #expect(try server.seen().isEmpty)
      #expect(try proxy.ask("http://api.test/k").status == 200)
      #expect(try server.seen().map(\.why) == [""])
    }
  }

  @Test func `sizes and signatures that are split at every byte are put together`() throws {
    let server = try AWSServer()
    try withProxy(server.configuration("service: s3, region: eu-central-1, \(AWSServer.keys)")) { proxy throws in
      let body = AWSServer.chunks(["a"], trailers: ["x-amz-checksum-crc32:AAAAAA=="])
      for isChunked in [false, true] {
        let client = try proxy.connect()
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.utf8.count)"
        try client.send(ProxyProcess.request("PUT", "http://api.test/k", fields(trailers: true) + [framing]))
        for byte in body.utf8 { try client.send(isChunked ? Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8) : [byte]) }
        if isChunked { try client.send("0\r\n\r\n") }
        #expect(try client.readAnswer().status == 200)
      }
      let seen = try server.seen()
      #expect(seen.map(\.why) == ["", ""] && seen.map(\.length) == [body.utf8.count, body.utf8.count])
    }
  }
}
