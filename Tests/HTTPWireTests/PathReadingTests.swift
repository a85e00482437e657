import HTTPWire
import Testing

@Suite("The path of a host with prefixed entries, as an origin may read it")
struct PathReadingTests {
  private func readings(_ path: String) throws(HeadError) -> [String] {
    var result: [String] = []
    let bytes = Array(path.utf8)
    var failure: HeadError?
    bytes.withUnsafeBytes { bytes in
      do throws(HeadError) { try forEachReading(of: bytes) { result.append(String(decoding: $0, as: UTF8.self)) } } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return result
  }

  @Test(
    "is decoded, and without parameters",
    arguments: [
      ("", []), ("/", ["/"]), ("/a/b", ["/a/b"]), ("/%61dmin/x", ["/admin/x"]), ("/%41%5a%30%2d%5F%7E", ["/AZ0-_~"]),
      ("/a;b=c/d", ["/a/d"]), ("/a;/d;x;y", ["/a/d"]), ("/a%3bb/d", ["/a/d"]), ("/a%3Bb/d", ["/a/d"]), ("/a;b%2", ["/a"]),
      ("/a%20b", ["/a b"]), ("/%40x", ["/@x"]), ("/%", ["/%"]), ("/%2", ["/%2"]), ("/%zz", ["/%zz"]),
      // Twice, and three times.
      ("/%2561dmin", ["/admin"]), ("/%25%36%31dmin", ["/admin"]), ("/a%253bb/c", ["/a/c"]), ("/%252561", ["/a"]),
      ("/a%252fb", ["/a/b"]), ("/a%255cb", ["/a/b"]), ("/100%25", ["/100%"]),
      // Where some servers end the path.
      ("/admin%00x", ["/admin"]), ("/admin%3fx/y", ["/admin"]), ("/admin%23x", ["/admin"]),
      // Some servers resolve the result, some do not.
      ("/x/%252e%252e/admin", ["/x/../admin", "/admin"]), ("/x/.%252e/%252e/a", ["/x/.././a", "/a"]),
      ("/x//a", ["/x//a", "/x/a"]),
      ("/%252e%252e", ["/..", "/"]), ("/..;x/a", ["/../a", "/a"]), ("/a/%252e%252e/%252e%252e/b", ["/a/../../b", "/b"]),
      ("/.a/..b/...", ["/.a/..b/..."]), ("/a/", ["/a/", "/a"]),
    ])
  func reading(path: String, expected: [String]) throws { #expect(try readings(path) == expected) }

  @Test("is refused when it is encoded more often than anybody decodes")
  func depth() throws {
    func encoded(_ times: Int) -> String { "/%" + String(repeating: "25", count: times - 1) + "61" }
    #expect(try readings(encoded(4)) == ["/a"])
    #expect(throws: HeadError.ambiguousPath) { try readings(encoded(5)) }
    #expect(throws: HeadError.ambiguousPath) { try readings(encoded(20_000)) }
  }
}
