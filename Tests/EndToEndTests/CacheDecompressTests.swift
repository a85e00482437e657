import Foundation
import Testing

/// With `decompress`, what is stored for apps that do not take gzip is another representation than the origin's.
@Suite struct CacheDecompressTests {
  /// `hello` in gzip, each byte a character.
  private static let coded: String = {
    let bytes: [UInt8] =
      [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 5, 0, 0xfa, 0xff] + Array("hello".utf8) + [0x86, 0xa6, 0x10, 0x36, 5, 0, 0, 0]
    return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }()

  private static let fields = "ETag: \"v1\"\r\nVary: Accept-Language\r\nX-Coding: gzip\r\n"
  private static let length = "Content-Encoding: gzip\r\nContent-Length: \(coded.unicodeScalars.count)\r\n\r\n"

  /// A stale stored answer without its coding, and what renews it.
  private func withStored(_ renewal: String, _ body: (ProxyProcess, _ url: String) throws -> Void) throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let stale = "HTTP/1.1 200 OK\r\nCache-Control: max-age=0\r\n\(Self.fields)\(Self.length)\(Self.coded)"
    try origin.script(name, [.readBody, .send(stale)], [.readBody, .send(renewal)])
    try withProxy(try Configuration.https("cache: {}", "decompress: true")) { proxy throws in
      let url = "http://api.test/?id=\(name)"
      let miss = try proxy.ask(url)
      #expect(miss.text == "hello" && miss["ETag"] == "W/\"v1\"" && miss.cacheStatus == "fwd=uri-miss; stored", "\(miss.head)")
      try body(proxy, url)
      #expect(try origin.exchanges(name).count == 2)
    }
  }

  /// As the first answer was, and no part goes to who has the other representation.
  private func expectSame(_ proxy: ProxyProcess, _ url: String) throws {
    let hit = try proxy.ask(url)
    #expect(hit.text == "hello" && hit.cacheStatus?.hasPrefix("hit") == true, "\(hit.head)")
    #expect(hit.all("ETag") == ["W/\"v1\""] && hit["X-New"] == "yes" && hit["Content-Encoding"] == nil, "\(hit.head)")
    #expect(hit.all("Vary").joined(separator: ", ") == "Accept-Language, Accept-Encoding", "\(hit.head)")
    #expect(try proxy.ask(url, ["If-None-Match: W/\"v1\""])["ETag"] == "W/\"v1\"")
    #expect(try proxy.ask(url, ["If-None-Match: W/\"v1\""]).status == 304)
    #expect(try proxy.ask(url, ["Range: bytes=1-2"]).text == "el")
    for tag in ["\"v1\"", "W/\"v1\""] {
      #expect(try proxy.ask(url, ["Range: bytes=1-2", "If-Range: \(tag)"]).status == 200, "\(tag)")
    }
  }

  @Test func `a 304 leaves its tag weak, and Vary as it must be`() throws {
    let renewal = "HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=600\r\n\(Self.fields)X-New: yes\r\n\r\n"
    try withStored(renewal) { proxy, url throws in
      #expect(try proxy.ask(url).all("ETag") == ["W/\"v1\""])
      try expectSame(proxy, url)
    }
  }

  @Test func `a 200 to HEAD does, too`() throws {
    let renewal = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\n\(Self.fields)X-New: yes\r\n\(Self.length)"
    try withStored(renewal) { proxy, url throws in
      #expect(try proxy.ask("HEAD", url).status == 200)
      try expectSame(proxy, url)
    }
  }
}
