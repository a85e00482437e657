import HTTPWire
import Testing

@Suite("The end of a head") struct HeadEndTests {
  @Test(
    "is behind its empty line",
    arguments: [
      ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 27), ("GET / HTTP/1.1\r\n\r\nbody\r\n\r\n", 18), ("a\r\n\r\n", 5), ("\r\n\r\n", 4),
      ("a\n\n", nil), ("a\r\n", nil), ("\r\n", nil), ("\n\r\n", nil), ("a\r\n\rb\n\r\n", 8), ("a\r\nb\n\n\r\n", 8), ("", nil),
      ("abc", nil),
    ] as [(String, Int?)])
  func place(text: String, end: Int?) {
    let found = Array(text.utf8).withUnsafeBytes { headEnd($0) }
    #expect(found == end)
  }
}
