import Crypto
import JSON

/// The content of a token file: a JSON object with one record per line, so that damage affects only some records.
///
/// A record is the plain object of `TokenRecord`, or `{"key": ..., "sealed": ...}`: AES-256-GCM over that object's text, bound
/// to the credential's name. `key` distinguishes a wrong key from a damaged record.
struct TokenFile {
  struct Entry: Hashable {
    var name: String
    var value: JSONValue
  }

  enum Reading: Hashable {
    case absent
    case record(TokenRecord)
    case damaged
    case wrongKey
  }

  private(set) var entries: [Entry] = []
  /// Unreadable lines and records, unchanged.
  private(set) var setAside: [JSONValue] = []
  /// Reading the text set something aside.
  private(set) var salvaged = false

  init() {}

  /// nil if the text is not a token file at all.
  init?(_ text: [UInt8]) {
    if let json = try? JSONParser.parse(text) {
      guard case .object(let members)? = json["credentials"], json["version"]?.integer == 1 else { return nil }
      entries = members.map { Entry(name: $0.name, value: $0.value) }
      if case .array(let values)? = json["set_aside"] { setAside = values }
      return
    }
    let lines = text.split(separator: 0x0a, omittingEmptySubsequences: true).map(Array.init)
    guard lines.first == Self.head else { return nil }
    salvaged = true
    for var line in lines.dropFirst() where line != Self.tail {
      if line.starts(with: Self.asideHead) { continue }
      if line.last == UInt8(ascii: ",") { line.removeLast() }
      if case .object(let members)? = try? JSONParser.parse([0x7b] + line + [0x7d]), let member = members.first,
        members.count == 1, !entries.contains(where: { $0.name == member.name })
      {
        entries.append(Entry(name: member.name, value: member.value))
      } else {
        setAside.append(.string(String(decoding: Base64.encode(line), as: UTF8.self)))
      }
    }
  }

  private static let head = Array("{\"version\":1,\"credentials\":{".utf8)
  private static let asideHead = Array("},\"set_aside\":".utf8)
  private static let tail = Array("}}".utf8)

  var text: [UInt8] {
    var bytes = Self.head + [0x0a]
    for (index, entry) in entries.enumerated() {
      JSONValue.string(entry.name).write(to: &bytes)
      bytes.append(UInt8(ascii: ":"))
      entry.value.write(to: &bytes)
      if index + 1 < entries.count { bytes.append(UInt8(ascii: ",")) }
      bytes.append(0x0a)
    }
    if setAside.isEmpty {
      bytes += Self.tail
    } else {
      bytes += Self.asideHead
      JSONValue.array(setAside).write(to: &bytes)
      bytes.append(UInt8(ascii: "}"))
    }
    bytes.append(0x0a)
    return bytes
  }

  func record(of name: String, key: Secret?) -> Reading {
    guard let value = entries.first(where: { $0.name == name })?.value else { return .absent }
    guard let sealed = value["sealed"]?.string else { return TokenRecord(value).map(Reading.record) ?? .damaged }
    guard let key, value["key"]?.string == Self.fingerprint(of: key) else { return .wrongKey }
    guard let box = Base64.decode(Array(sealed.utf8)),
      let plain = try? AESGCM.open(box, key: key.bytes, authenticating: Self.context(name)),
      let json = try? JSONParser.parse(plain), let record = TokenRecord(json)
    else { return .damaged }
    return .record(record)
  }

  mutating func setAsideRecord(of name: String) {
    guard let index = entries.firstIndex(where: { $0.name == name }) else { return }
    setAside.append(.object([.init(name: name, value: entries[index].value)]))
    entries.remove(at: index)
  }

  mutating func put(_ record: TokenRecord, for name: String, key: Secret?) throws(OpenSSLError) {
    var value = record.json
    if let key {
      let box = try AESGCM.seal(value.text, key: key.bytes, authenticating: Self.context(name))
      value = .object([
        .init(name: "key", value: .string(Self.fingerprint(of: key))),
        .init(name: "sealed", value: .string(String(decoding: Base64.encode(box), as: UTF8.self))),
      ])
    }
    if let index = entries.firstIndex(where: { $0.name == name }) {
      entries[index].value = value
    } else {
      entries.append(Entry(name: name, value: value))
    }
  }

  private static func context(_ name: String) -> [UInt8] { Array("authproxy token record 1 ".utf8) + Array(name.utf8) }

  /// Distinguishes keys without revealing them: they are 32 random bytes.
  static func fingerprint(of key: Secret) -> String {
    let digest = SHA256.digest(Array("authproxy token key 1".utf8) + key.bytes)
    return String(decoding: Base64.encodeURL(Array(digest.prefix(9))), as: UTF8.self)
  }
}
