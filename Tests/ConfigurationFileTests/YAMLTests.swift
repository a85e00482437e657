import Settings
import Testing

@testable import ConfigurationFile

@Suite("The YAML underneath")
struct YAMLTests {
  private func errors(_ text: String) -> [String] { World.read("listen: 127.0.0.1:3128\n" + text).errorLines }

  @Test("Scalars are plain texts: no, 1e3, 0x10, null and dates stay what was written")
  func scalars() throws {
    let text = """
      listen: 127.0.0.1:3128
      upstreams: [{match: h, credential: no}, {match: i, credential: 1e3}, {match: j, credential: 0x10}, {match: k, credential: null}]
      credentials:
        no: {basic: {username: 0012, password: 2027-06-01}}
        1e3: {basic: {username: ~, password: yes}}
        0x10: {basic: {username: 1_000, password: .inf}}
        null: {basic: {username: !!str 12, password: 'it''s'}}
      """
    let settings = try #require(World.read(text).settings)
    let pairs = settings.credentials.mapValues { policy -> [String] in
      guard case .basic(let username, let password) = policy.kind else { return [] }
      return [username, String(decoding: password.bytes, as: UTF8.self)]
    }
    #expect(
      pairs == ["no": ["0012", "2027-06-01"], "1e3": ["~", "yes"], "0x10": ["1_000", ".inf"], "null": ["12", "it's"]])
  }

  @Test("Anchors, aliases and merge keys work; own keys win over merged ones, earlier parents over later ones")
  func merging() throws {
    let text = """
      listen: 127.0.0.1:3128
      upstreams:
        - &first {match: a, decompress: true, timeouts: &slow {response_head: 5m}}
        - &second {match: b, decompress: false, host_header: app}
        - {<<: [*first, *second], match: c}
        - {match: d, timeouts: {<<: *slow, stall: 7s}}
      """
    let upstreams = try #require(World.read(text).settings).upstreams
    #expect(upstreams.map(\.name) == ["a", "b", "c", "d"])
    #expect(upstreams[2].decompress)
    #expect(upstreams[2].hostHeader == .app)
    #expect(upstreams[2].timeouts.responseHead == 300_000)
    #expect(upstreams[3].timeouts.responseHead == 300_000)
    #expect(upstreams[3].timeouts.stall == 7_000)
    #expect(upstreams[3].timeouts.connect == 10_000)
  }

  @Test("A mistake behind an alias is reported where it was written")
  func aliasedMistake() {
    #expect(
      errors("upstreams:\n  - {match: h, retry: &r {attempts: many}}\n  - {match: i, retry: *r}\n") == [
        "3:37: error: upstreams[0].retry.attempts: 'many' must be a whole number",
        "3:37: error: upstreams[1].retry.attempts: 'many' must be a whole number",
      ])
  }

  @Test("A billion laughs end at a bounded number of nodes")
  func aliasBomb() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    for level in 1...30 {
      let alias = "*a\(level - 1)"
      text += "a\(level): &a\(level) [\(Array(repeating: alias, count: 10).joined(separator: ", "))]\n"
    }
    let errors = errors(text)
    #expect(errors.count == 1)
    #expect(errors.first?.hasSuffix("aliases expand to more than 100000 values") == true)
  }

  @Test("Nesting has an end before the stack does", arguments: ["[", "{a: ", "- ", "? "])
  func nesting(_ opening: String) {
    let errors = errors(
      "name: " + (opening.first == "-" || opening.first == "?" ? "\n  " : "") + String(repeating: opening, count: 5000))
    #expect(errors.count == 1)
  }

  @Test("What is not UTF-8 is said so, at its place")
  func encoding() {
    let bytes = Array("listen: 127.0.0.1:3128\nname: é".utf8) + [0xff, 0x0a]
    #expect(World.read(bytes).errorLines == ["2:8: error: not UTF-8"])
    let utf16 = "listen: 127.0.0.1:3128\n".utf16.flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }
    #expect(World.read([0xff, 0xfe] + utf16).errorLines == ["1:1: error: not UTF-8"])
  }

  @Test("A byte order mark and CRLF line ends do no harm")
  func windows() {
    let loaded = World.read([0xef, 0xbb, 0xbf] + Array("listen: 127.0.0.1:3128\r\nupstreams:\r\n  - match: h\r\n".utf8))
    #expect(loaded.lines == [])
    #expect(loaded.settings?.upstreams.first?.match.host == "h")
  }

  @Test("Columns count characters, not bytes")
  func columns() {
    #expect(
      errors("limits: {é: 1, connections: x}\n") == [
        "2:10: error: unknown key 'é' in limits", "2:29: error: limits.connections: 'x' must be a whole number",
      ])
  }

  @Test("Control characters are an error at their place")
  func controls() {
    #expect(errors("name: a\u{1}b\n") == ["2:8: error: not YAML: control characters are not allowed"])
  }

  @Test("A duplicate key from a merge is allowed: the merged one gives way")
  func mergeIsNoDuplicate() {
    #expect(errors("upstreams:\n  - &a {match: a, name: x}\n  - {<<: *a, match: b, name: y}\n") == [])
  }

  @Test("No bytes crash the reader, and there are settings exactly if there is no error")
  func anyBytes() throws {
    var random = SplitMix(state: 1)
    let seeds = (Mistake.ofTrust + Mistake.ofOAuth2 + Mistake.ofAccess).map(\.withListener) + [wholeLanguage]
    for round in 0..<3000 {
      var bytes = Array(seeds[round % seeds.count].utf8)
      for _ in 0..<(1 + random.next() % 6) {
        let at = Int(random.next() % UInt64(bytes.count))
        switch random.next() % 4 {
        case 0: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.insert("{}[]:,&*#?|-<>\"'%@`\n\t ".utf8.randomElement(using: &random) ?? 0, at: at)
        case 2: bytes.removeSubrange(at..<min(bytes.count, at + Int(random.next() % 20)))
        default: bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + Int(random.next() % 30))], at: at)
        }
        if bytes.isEmpty { bytes = [0x20] }
      }
      let loaded = World.read(bytes)
      #expect((loaded.settings == nil) == !loaded.errors.isEmpty)
    }
  }
}

/// Repeatable random numbers: Vigna's SplitMix64.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
