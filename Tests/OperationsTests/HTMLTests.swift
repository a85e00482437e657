import Testing

@testable import Operations

@Suite struct HTMLTests {
  private func escaped(_ text: String, limit: Int = HTML.longestText) -> String {
    var html = HTML()
    html.text(text, limit: limit)
    return String(decoding: html.bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("plain", "plain"), ("<script>alert('x')</script>", "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"),
    (#"" onload="x"#, "&quot; onload=&quot;x"), ("a&amp;b", "a&amp;amp;b"), ("größe 日本", "größe 日本"),
    // Direction, controls, no width, no such character.
    ("a\u{202e}b", "a\u{fffd}b"), ("\u{200f}\u{2066}\u{2069}", "\u{fffd}\u{fffd}\u{fffd}"),
    ("a\0\u{1b}[2J\r\nb", "a\u{fffd}\u{fffd}[2J\u{fffd}\u{fffd}b"),
    ("a\u{200b}b\u{feff}", "a\u{fffd}b\u{fffd}"), ("\u{2028}\u{e000}\u{85}", "\u{fffd}\u{fffd}\u{fffd}"),
  ])
  func `texts of strangers stay texts`(_ text: String, _ expected: String) { #expect(escaped(text) == expected) }

  @Test func `long texts are cut`() {
    let long = String(repeating: "<", count: 10_000)
    #expect(escaped(long) == String(repeating: "&lt;", count: HTML.longestText) + "…")
    #expect(escaped("abc", limit: 3) == "abc" && escaped("abcd", limit: 3) == "abc…")
    // Marks without end on one letter.
    #expect(escaped("a" + String(repeating: "\u{301}", count: 10_000)).unicodeScalars.count == 1 + 3 + 1)
    #expect(escaped("o\u{302}\u{301}") == "o\u{302}\u{301}")
  }

  @Test func `every scalar is safe between tags and in attributes`() {
    for value in UInt32(0)...0x2ff {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = escaped(String(scalar))
      #expect(!text.contains { "<>\"'".contains($0) } && (text == "&amp;" || !text.hasPrefix("&") || text.hasSuffix(";")))
      #expect(
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{7f}" && !(0x80...0x9f).contains($0.value) }, "\(value)")
    }
  }

  @Test(arguments: [
    ("", "?"), ("q=a%20b+c&sort=-rate&span=6h&all=1", "?q=a%20b%20c&sort=-rate&span=6h&all=1"),
    ("sort=nothing&span=1y&x=y", "?"),
    ("q=%22%3E%3Cscript%3E", "?q=%22%3E%3Cscript%3E"), ("q=%zz%4", "?q=%25zz%254"), ("q=%ff", "?q=%EF%BF%BD"),
    ("&&=&q", "?"),
  ])
  func `queries are read, and written so that they are no markup`(_ text: String, _ written: String) {
    #expect(PageQuery(text).text == written)
    #expect(PageQuery(String(written.dropFirst())) == PageQuery(text))
  }

  @Test func `a filter has a limit, and the second click turns the order around`() {
    #expect(PageQuery("q=" + String(repeating: "x", count: 10_000)).filter.count == PageQuery.longestFilter)
    let first = PageQuery().sorted(by: .rate)
    #expect(first.descends && !first.sorted(by: .rate).descends && !first.sorted(by: .name).descends)
  }

  @Test func `figures are short`() {
    #expect([0, 0.01, 0.3, 9.94, 12.4, 23_456].map(Figure.rate) == ["0", "<0.1", "0.3", "9.9", "12", "23.5k"])
    #expect([0, 9_999, 12_345, 4_100_000, .max].map(Figure.count) == ["0", "9999", "12.3k", "4.1M", "18446744073.7G"])
    #expect([nil, 0.0008, 0.0124, 0.9996, 1.3].map(Figure.duration) == ["–", "0.8 ms", "12 ms", "1.0 s", "1.3 s"])
    #expect([0, 0.001, 0.5, 1].map(Figure.percent) == ["0 %", "<1 %", "50 %", "100 %"])
    #expect([0, 86_399, -1].map(Figure.clock) == ["00:00:00", "23:59:59", "23:59:59"])
  }

  @Test func `names that a rebound page could have are not ours`() {
    let check = HostCheck([.init(name: "ops.internal", port: 9128), .init(name: "status.internal")])
    for host in [
      nil, "localhost", "LOCALHOST:9128", "127.0.0.1:9128", "192.0.2.1", "[::1]:1", "[2001:db8::1]", "ops.internal:9128",
      "Ops.Internal.:9128", "status.internal", "status.internal:1",
    ] { #expect(check.admits(host), "\(host ?? "")") }
    for host in [
      "", "evil.test", "ops.internal", "ops.internal:80", "localhost.evil.test", "127.0.0.1.evil.test", "0x7f.1", "2130706433",
      "127.1", "evil.test:9128", "localhost:x", "[::1", "a b", "localhost@evil.test", "127.0.0.1,evil.test",
    ] { #expect(!check.admits(host), "\(host)") }
  }
}
