/// One of AWS's shared files: `~/.aws/config` or `~/.aws/credentials`. Reads the form that AWS's SDKs agree on.
struct AWSProfileFile: Sendable, Hashable {
  enum Kind: Sendable {
    /// Profiles other than `default` are called `[profile name]`.
    case config
    /// Every section is a profile.
    case credentials
  }

  struct Malformed: Error, Hashable {
    /// From 1.
    let line: Int
    let why: String
  }

  /// By profile, then by key in lower case. Values may be secrets.
  private(set) var profiles: [String: [String: String]] = [:]

  init() {}

  /// - Throws: never with anything of the text.
  init(_ bytes: [UInt8], kind: Kind) throws(Malformed) {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed(line: 1, why: "is not UTF-8") }
    var reader = Reader(kind: kind)
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    for (index, line) in lines.enumerated() {
      var content = Substring(line)
      if content.unicodeScalars.last == "\r" { content.unicodeScalars.removeLast() }
      if index == 0, content.unicodeScalars.first == "\u{feff}" { content.unicodeScalars.removeFirst() }
      do throws(Reader.Problem) { try reader.read(content) } catch { throw Malformed(line: index + 1, why: error.why) }
    }
    profiles = reader.profiles
  }

  private struct Reader {
    struct Problem: Error { let why: String }

    let kind: Kind
    var profiles: [String: [String: String]] = [:]
    private var section = Section.none
    /// The key before, for lines that continue its value.
    private var key: String?
    /// Profiles that a section `[profile default]` has defined, which `[default]` does not change.
    private var hasPrefixedDefault = false

    private enum Section {
      case none
      case profile(String)
      /// Sections that say nothing here: `[sso-session x]`, `[services x]`, and those of another kind of file.
      case other
    }

    init(kind: Kind) { self.kind = kind }

    mutating func read(_ line: Substring) throws(Problem) {
      let trimmed = Self.trimmed(line)
      guard let first = trimmed.first, first != "#", first != ";" else { return }
      if line.first == " " || line.first == "\t" { return try proceed(trimmed) }
      if first == "[" { return try begin(trimmed) }
      guard let equals = trimmed.firstIndex(of: "=") else { throw Problem(why: "is neither a section nor 'key = value'") }
      let name = Self.trimmed(trimmed[..<equals]).lowercased()
      guard !name.isEmpty else { throw Problem(why: "has no key before '='") }
      key = name
      switch section {
      case .none: throw Problem(why: "has a key before the first section")
      case .other: break
      case .profile(let profile):
        profiles[profile, default: [:]][name] = String(Self.withoutComment(trimmed[trimmed.index(after: equals)...]))
      }
    }

    /// A line with white space before it: more of the value, or keys of a value that is a section itself.
    private mutating func proceed(_ trimmed: Substring) throws(Problem) {
      guard let key else { throw Problem(why: "continues nothing") }
      guard case .profile(let profile) = section, let value = profiles[profile]?[key] else { return }
      // Nested keys, as `s3 =` has them, say nothing here.
      guard !value.isEmpty else { return }
      profiles[profile]?[key] = value + "\n" + Self.withoutComment(trimmed)
    }

    private mutating func begin(_ trimmed: Substring) throws(Problem) {
      guard let end = trimmed.firstIndex(of: "]") else { throw Problem(why: "is a section without ']'") }
      let rest = Self.trimmed(trimmed[trimmed.index(after: end)...])
      guard rest.isEmpty || rest.hasPrefix("#") || rest.hasPrefix(";") else { throw Problem(why: "has text after ']'") }
      let name = Self.trimmed(trimmed[trimmed.index(after: trimmed.startIndex)..<end])
      guard !name.isEmpty else { throw Problem(why: "is a section without a name") }
      key = nil
      section = .other
      let words = name.split(maxSplits: 1, whereSeparator: { $0 == " " || $0 == "\t" })
      let isPrefixed = words.count == 2 && words[0] == "profile"
      switch kind {
      case .credentials where !isPrefixed: section = .profile(String(name))
      case .credentials: break
      case .config where isPrefixed:
        let profile = Self.unquoted(Self.trimmed(words[1]))
        if profile == AWSProfiles.standardName, !hasPrefixedDefault {
          hasPrefixedDefault = true
          profiles[profile] = nil
        }
        section = .profile(profile)
      case .config where name == AWSProfiles.standardName:
        // Both may be there; then the one with the prefix counts.
        if !hasPrefixedDefault { section = .profile(String(name)) }
      case .config: break
      }
      if case .profile(let profile) = section, profiles[profile] == nil { profiles[profile] = [:] }
    }

    private static func trimmed(_ text: Substring) -> Substring {
      var text = text
      while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
      while let last = text.last, last == " " || last == "\t" { text.removeLast() }
      return text
    }

    /// A comment begins with white space before its mark: secrets may contain a `#`.
    private static func withoutComment(_ value: Substring) -> Substring {
      var previous: Character = " "
      for index in value.indices {
        if value[index] == "#" || value[index] == ";", previous == " " || previous == "\t" { return trimmed(value[..<index]) }
        previous = value[index]
      }
      return trimmed(value)
    }

    private static func unquoted(_ name: Substring) -> String {
      for quote in ["\"", "'"] where name.count >= 2 && name.hasPrefix(quote) && name.hasSuffix(quote) {
        return String(name.dropFirst().dropLast())
      }
      return String(name)
    }
  }
}
