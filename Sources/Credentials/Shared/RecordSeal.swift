import Crypto
import JSON

/// Encrypts records for a shared store with AES-256-GCM, and opens them. Each sealing has its own nonce, so that no value of a
/// key comes back: a comparison of bytes is a comparison of versions.
///
/// A sealed record is the ASCII text `authproxy1 <fingerprint of the key> <Base64 of nonce, ciphertext, tag>`: printable, for
/// stores and people that expect text.
public struct RecordSeal: Sendable, Hashable {
  public enum Problem: Error, Sendable, Hashable {
    /// AES-256 keys are 32 bytes.
    case badKey
    /// `previous_keys` has the key in use, or one twice.
    case repeatedKey
  }

  public enum Opened: Sendable, Hashable {
    case record(TokenRecord)
    /// Sealed with a key that this process does not have.
    case unknownKey
    /// Not authentic for this name, or no record.
    case damaged
  }

  /// Bytes of a sealed record; a larger value is no record.
  public static let maximumSize = 1_048_576

  private static let mark = Array("authproxy1".utf8)

  let key: Secret
  /// With which records are opened, never written.
  private let previous: [Secret]

  public init(key: Secret, previous: [Secret] = []) throws(Problem) {
    let all = [key] + previous
    guard all.allSatisfy({ $0.bytes.count == AESGCM.keySize }) else { throw .badKey }
    guard Set(all).count == all.count else { throw .repeatedKey }
    self.key = key
    self.previous = previous
  }

  /// For a store whose reader may know the tokens. The key is no secret: it only makes records look alike.
  public static let withoutKey = RecordSeal(known: Secret(SHA256.digest(Array("authproxy: no key".utf8))))

  private init(known key: Secret) {
    self.key = key
    previous = []
  }

  /// Distinguishes keys without revealing them: they are 32 random bytes.
  public var fingerprint: String { TokenFile.fingerprint(of: key) }

  /// Whether this opens what the other one seals.
  public func opens(what other: RecordSeal) -> Bool { ([key] + previous).contains(other.key) }

  public func seal(_ record: TokenRecord, as name: RecordName) throws(OpenSSLError) -> [UInt8] {
    let box = try AESGCM.seal(record.json.text, key: key.bytes, authenticating: name.context)
    return Self.mark + [0x20] + Array(fingerprint.utf8) + [0x20] + Base64.encode(box)
  }

  public func open(_ sealed: [UInt8], as name: RecordName) -> Opened {
    guard sealed.count <= Self.maximumSize else { return .damaged }
    let parts = sealed.split(separator: 0x20, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].elementsEqual(Self.mark), let box = Base64.decode(Array(parts[2])) else { return .damaged }
    let named = ([key] + previous).first { parts[1].elementsEqual(TokenFile.fingerprint(of: $0).utf8) }
    guard let named else { return .unknownKey }
    guard let plain = try? AESGCM.open(box, key: named.bytes, authenticating: name.context),
      let json = try? JSONParser.parse(plain), let record = TokenRecord(json), record.binding == name.binding
    else { return .damaged }
    return .record(record)
  }
}
