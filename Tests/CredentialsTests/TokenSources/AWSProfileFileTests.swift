import Testing

@testable import Credentials

@Suite("AWS's shared files are read as its SDKs read them")
struct AWSProfileFileTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var kind: AWSProfileFile.Kind
    var profiles: [String: [String: String]]
    var testDescription: String { name }
    init(_ name: String, _ text: String, in kind: AWSProfileFile.Kind = .config, _ profiles: [String: [String: String]]) {
      self.name = name
      self.text = text
      self.kind = kind
      self.profiles = profiles
    }
  }

  static let rows: [Row] = [
    Row("nothing", "", [:]),
    Row("comments and blank lines", "# a\n; b\n\n   # c\n\t\n", [:]),
    Row("default", "[default]\nregion = us-east-1\n", ["default": ["region": "us-east-1"]]),
    Row("a profile", "[profile a]\nregion=eu-west-1", ["a": ["region": "eu-west-1"]]),
    Row("white space around everything", "[ profile   a b ]\n\u{20}\nregion\t =\t x \t\n", ["a b": ["region": "x"]]),
    Row("quotes around a profile's name", "[profile \"a b\"]\nk=v\n[profile 'c']\nk=w", ["a b": ["k": "v"], "c": ["k": "w"]]),
    Row("keys in upper case", "[default]\nREGION = x", ["default": ["region": "x"]]),
    Row("CRLF", "[default]\r\nregion = x\r\n", ["default": ["region": "x"]]),
    Row("a byte order mark", "\u{feff}[default]\nregion = x", ["default": ["region": "x"]]),
    Row(
      "a comment behind a section and behind a value", "[default] # c\nk = v # c\nl = v ;c", ["default": ["k": "v", "l": "v"]]),
    Row("a mark inside of a value is none", "[default]\nk = a#b;c=d", ["default": ["k": "a#b;c=d"]]),
    Row("an empty value", "[default]\nk =\nl = v", ["default": ["k": "", "l": "v"]]),
    Row("a value goes on", "[default]\nk = a\n  b\n\tc\nl = v", ["default": ["k": "a\nb\nc", "l": "v"]]),
    Row(
      "keys below a key say nothing", "[default]\ns3 =\n  max = 1\n  region = no\nregion = x",
      ["default": ["s3": "", "region": "x"]]),
    Row(
      "sections of other kinds say nothing",
      "[sso-session a]\nregion = no\n[services b]\nsts =\n  endpoint_url = x\n[plain]\nk = v", [:]),
    Row("the same section twice", "[default]\na = 1\nb = 1\n[default]\nb = 2", ["default": ["a": "1", "b": "2"]]),
    Row("a prefixed default counts", "[default]\na = 1\n[profile default]\nb = 2\n[default]\nc = 3", ["default": ["b": "2"]]),
    Row(
      "credentials have no prefix", "[a]\nk = v\n[profile b]\nk = no\n[default]\nk = w", in: .credentials,
      ["a": ["k": "v"], "default": ["k": "w"]]),
    Row("an empty profile is one", "[profile a]\n", ["a": [:]]),
  ]

  @Test("what is in them", arguments: rows)
  func read(_ row: Row) throws {
    #expect(try AWSProfileFile(bytes(row.text), kind: row.kind).profiles == row.profiles)
  }

  static let broken: [(String, Int, String)] = [
    ("k = v", 1, "has a key before the first section"),
    ("[default]\nsecret-5ecret", 2, "is neither a section nor 'key = value'"),
    ("[default\nk = v", 1, "is a section without ']'"), ("[]\n", 1, "is a section without a name"),
    ("[a] b", 1, "has text after ']'"),
    ("[default]\n= v", 2, "has no key before '='"), ("[default]\n\n  k = v", 3, "continues nothing"),
    ("[default]\nk = \u{fffd}", 0, ""),
  ]

  @Test("what is wrong with them, without their text", arguments: broken)
  func malformed(_ text: String, _ line: Int, _ why: String) {
    guard line > 0 else {
      #expect(throws: AWSProfileFile.Malformed(line: 1, why: "is not UTF-8")) {
        try AWSProfileFile([0x5b, 0xff], kind: .config)
      }
      return
    }
    #expect(throws: AWSProfileFile.Malformed(line: line, why: why)) { try AWSProfileFile(bytes(text), kind: .config) }
  }

  @Test(
    "a command line is split as by a shell",
    arguments: [
      ("/bin/a b  c", ["/bin/a", "b", "c"]), (#"/bin/a "b c" 'd "e'"#, ["/bin/a", "b c", "d \"e"]),
      (#"/a\ b c\"d"#, ["/a b", "c\"d"]),
      (#"/a "\x \" \\""#, ["/a", #"\x " \"#]), ("/a '' b", ["/a", "", "b"]), ("/a $HOME *", ["/a", "$HOME", "*"]),
      ("/a\tb\nc", ["/a", "b", "c"]),
      ("/a 'b", nil), (#"/a "b"#, nil), (#"/a \"#, nil), ("  ", nil), ("", nil),
    ] as [(String, [String]?)])
  func words(_ line: String, _ words: [String]?) { #expect(CommandWords.split(line) == words) }
}
