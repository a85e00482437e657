import HTTPWire
import Testing

@testable import Cache

@Suite("A stored head")
struct StoredHeadTests {
  private static let name = Array("authproxy".utf8)
  private func stored(_ fields: [String], status: String = "200 OK") throws -> StoredHead {
    let text = Array("HTTP/1.1 \(status)\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
    return try #require(text.withUnsafeBytes { StoredHead(relayed: $0, name: Self.name) })
  }
  private func renewed(_ head: StoredHead, _ fields: [String]) throws -> StoredHead {
    let text = Array("HTTP/1.1 304 Not Modified\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
    return try #require(text.withUnsafeBytes { head.renewed(relayed: $0, name: Self.name) })
  }
  private func lines(_ head: StoredHead, _ part: StoredPart, size: Int = 10, age: Int64 = 3) -> [String] {
    let text = written { $0.append(head, part: part, size: size, age: age) }
    #expect(text.utf8.count <= head.sizeLimit && text.hasSuffix("\r\n"))
    return text.split(separator: "\r\n").map(String.init)
  }

  @Test("has what was relayed, without what belongs to one message")
  func whole() throws {
    let head = try stored([
      "Date: x", "Content-Type: text/plain", "Age: 77", "Connection: close", "Content-Length: 99", "Keep-Alive: 5",
      "Proxy-Authentication-Info: x", "Proxy-Authenticate: x", "Proxy-Connection: x", "TE: trailers", "X-A: 1", "X-A: 2",
    ])
    #expect(
      lines(head, .whole) == [
        "HTTP/1.1 200 OK", "Date: x", "Content-Type: text/plain", "X-A: 1", "X-A: 2", "Content-Length: 10", "Age: 3",
      ])
  }

  @Test("of a body without its coding keeps its weak tag, and varies by Accept-Encoding")
  func decoded() throws {
    let head = try stored(["ETag: W/\"v1\"", "Vary: A", "Vary: Accept-Encoding"])
    for (fields, vary) in [(["Vary: B"], ["Vary: B", "Vary: Accept-Encoding"]), ([], ["Vary: A", "Vary: Accept-Encoding"])] {
      let text = Array("HTTP/1.1 304 x\r\nETag: \"v1\"\r\n\(fields.map { $0 + "\r\n" }.joined())\r\n".utf8)
      let newer = try #require(text.withUnsafeBytes { head.renewed(relayed: $0, name: Self.name, isDecoded: true) })
      #expect(lines(newer, .whole).dropFirst().dropLast(2) == ["ETag: W/\"v1\""] + vary)
    }
  }

  @Test("has no member of Cache-Status or Proxy-Status under our name")
  func forged() throws {
    let head = try stored([
      "Cache-Status: origin; hit, authproxy; hit; ttl=9", "cache-status: \"authproxy\"; hit",
      "Proxy-Status: authproxy; error=dns_error, up",
    ])
    #expect(
      lines(head, .whole).dropFirst() == ["Cache-Status: origin; hit", "Proxy-Status: up", "Content-Length: 10", "Age: 3"])
  }

  @Test("is written as a part, as 304, as 416")
  func parts() throws {
    let head = try stored([
      "Date: d", "ETag: \"a\"", "Last-Modified: l", "Content-Type: t", "Content-Encoding: gzip", "Content-Location: /x",
      "Content-Security-Policy: p", "Accept-Ranges: bytes", "Access-Control-Allow-Origin: *", "Vary: V",
    ])
    #expect(lines(head, .part(2..<5)).first == "HTTP/1.1 206 Partial Content")
    #expect(lines(head, .part(2..<5)).suffix(3) == ["Content-Range: bytes 2-4/10", "Content-Length: 3", "Age: 3"])
    let kept = [
      "Date: d", "ETag: \"a\"", "Content-Location: /x", "Content-Security-Policy: p", "Access-Control-Allow-Origin: *",
      "Vary: V",
    ]
    #expect(lines(head, .notModified) == ["HTTP/1.1 304 Not Modified"] + kept + ["Age: 3"])
    #expect(
      lines(head, .unsatisfiable) == ["HTTP/1.1 416 Range Not Satisfiable"] + kept
        + ["Content-Range: bytes */10", "Content-Length: 0", "Age: 3"])
    #expect(try lines(stored(["Last-Modified: l"]), .notModified).contains("Last-Modified: l"))
  }

  @Test("has a Content-Range of the origin's in a whole, as it has every field, but in a part its own alone")
  func contentRange() throws {
    let head = try stored(["Date: d", "Content-Range: bytes 0-4/10"])
    #expect(
      lines(head, .whole) == ["HTTP/1.1 200 OK", "Date: d", "Content-Range: bytes 0-4/10", "Content-Length: 10", "Age: 3"])
    #expect(lines(head, .part(1..<2)).count { $0.hasPrefix("Content-Range") } == 1)
  }

  @Test("of a 204 has no length")
  func noContent() throws {
    #expect(
      try lines(stored(["Date: d"], status: "204 No Content"), .whole, size: 0) == [
        "HTTP/1.1 204 No Content", "Date: d", "Age: 3",
      ])
  }

  @Test("takes all fields of a 304 but those of the body that it did not send")
  func renews() throws {
    let head = try stored([
      "Date: 1", "ETag: \"a\"", "Content-Type: a", "Content-Encoding: gzip", "X-A: 1", "X-A: 2", "X-B: 1", "Content-Foo: 1",
    ])
    let new = try renewed(
      head,
      [
        "date: 2", "Content-Length: 5", "Content-Type: b", "Content-Encoding: br", "Content-Range: x", "x-a: 3", "X-C: 4",
        "Content-Foo: 2",
      ])
    #expect(
      lines(new, .whole) == [
        "HTTP/1.1 200 OK", "ETag: \"a\"", "Content-Type: a", "Content-Encoding: gzip", "X-B: 1", "date: 2", "x-a: 3", "X-C: 4",
        "Content-Foo: 2", "Content-Length: 10", "Age: 3",
      ])
  }

  @Test("is nothing if it is no head")
  func broken() {
    #expect(Array("HTTP/1.1 200 OK\r\nA".utf8).withUnsafeBytes { StoredHead(relayed: $0, name: Self.name) } == nil)
  }
}

@Suite("An answer to an unsafe request invalidates")
struct InvalidationTests {
  private func paths(_ fields: String, target: String = "/a/b?c=d") -> [String] {
    let text = Array("HTTP/1.1 201 Created\r\n\(fields)\r\n\r\n".utf8)
    return text.withUnsafeBytes { bytes in
      var head = ResponseHead()
      precondition(head.parse(bytes, limit: 1 << 16) == .complete)
      let bases = ["https://api.example.com", "https://api.example.com:443", "http://api.test"].map { Array($0.utf8) }
      return Invalidation.paths(head, in: bytes, target: Array(target.utf8), bases: bases).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  /// psf/cachecontrol#461.
  @Test("`for any method that is not known as safe, and not if it failed`")
  func happens() {
    for method in [HTTPWire.Method.post, .put, .delete, .patch, .other] {
      for status in [200, 201, 204, 299, 302, 304, 399] { #expect(Invalidation.happens(method: method, status: status)) }
      for status in [100, 199, 400, 404, 500, 503] { #expect(!Invalidation.happens(method: method, status: status)) }
    }
    for method in [HTTPWire.Method.get, .head, .options, .trace] { #expect(!Invalidation.happens(method: method, status: 200)) }
  }

  @Test(
    "Location and Content-Location under the same origin",
    arguments: [
      ("/x", "/x"), ("/x?y=z", "/x?y=z"), ("x", "/a/x"), ("./x", "/a/x"), ("../x", "/x"), ("../../x", "/x"), ("?q", "/a/b?q"),
      ("", "/a/b?c=d"), ("https://api.example.com/x", "/x"), ("HTTPS://API.example.com/X", "/X"),
      ("https://api.example.com", "/"),
      ("https://api.example.com?q", "/?q"), ("https://api.example.com:443/x", "/x"), ("http://api.test/x", "/x"),
      ("//api.example.com/x", "/x"), ("/x#y", "/x"), ("/a/./b/../c", "/a/c"), ("/a/..", "/"), ("/a/b/.", "/a/b/"), ("x:y", nil),
      ("https://api.example.com.evil.test/x", nil), ("https://other.test/x", nil), ("//other.test/x", nil),
      ("http://api.example.com/x", nil), ("https://api.example.com:444/x", nil), ("mailto:x", nil), ("/..//x?../y", "//x?../y"),
    ] as [(String, String?)])
  func location(reference: String, expected: String?) {
    #expect(paths("Location: \(reference)") == (expected.map { [$0] } ?? []))
    #expect(paths("Content-Location: \(reference)") == (expected.map { [$0] } ?? []))
  }

  @Test("both of them, each once")
  func both() {
    #expect(paths("Location: /x\r\nContent-Location: /y\r\nLocation: /x") == ["/x", "/y"])
    #expect(paths("Link: </z>") == [])
  }
}
