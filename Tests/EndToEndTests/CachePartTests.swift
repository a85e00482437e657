import Foundation
import Testing

/// Ranges and conditions are answered from a stored whole.
@Suite struct CachePartTests {
  private func withStored(_ body: (ProxyProcess, _ url: String) throws -> Void) throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.answers(
      name, "Cache-Control: max-age=600", "ETag: \"v1\"", "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT",
      bodies: ["0123456789"])
    try withProxy(try Configuration.https("cache: {}")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      _ = try proxy.ask(url)
      try body(proxy, url)
      #expect(try origin.exchanges(name).count == 1)
    }
  }

  @Test func `a range`() throws {
    try withStored { proxy, url throws in
      for (range, status, content, body) in [
        ("bytes=2-4", 206, "bytes 2-4/10", "234"), ("bytes=7-", 206, "bytes 7-9/10", "789"),
        ("bytes=-3", 206, "bytes 7-9/10", "789"), ("bytes=10-", 416, "bytes */10", ""),
        ("bytes=0-1,3-4", 200, "", "0123456789"),
      ] {
        let answer = try proxy.ask(url, ["Range: \(range)"])
        #expect(answer.status == status, "\(range)")
        #expect(answer["Content-Range"] ?? "" == content, "\(range)")
        #expect(answer.text == body, "\(range)")
      }
      #expect(try proxy.ask(url, ["Range: bytes=2-4", "If-Range: \"v1\""]).status == 206)
      #expect(try proxy.ask(url, ["Range: bytes=2-4", "If-Range: \"v2\""]).status == 200)
    }
  }

  @Test func `a condition`() throws {
    try withStored { proxy, url throws in
      for field in ["If-None-Match: \"v0\", W/\"v1\"", "If-Modified-Since: Mon, 01 Jan 2024 00:00:00 GMT"] {
        let answer = try proxy.ask(url, [field])
        #expect(answer.status == 304, "\(field)")
        #expect(answer["ETag"] == "\"v1\"")
        #expect(answer["Content-Length"] == nil)
      }
      for field in ["If-None-Match: \"v0\"", "If-Modified-Since: Sun, 31 Dec 2023 00:00:00 GMT"] {
        #expect(try proxy.ask(url, [field]).status == 200, "\(field)")
      }
    }
  }
}
