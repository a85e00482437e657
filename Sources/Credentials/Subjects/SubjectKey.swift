import Crypto

/// Identifies the user of an app: SHA-256 of the token that the app sent, and of the client's name. Never a claim of the token,
/// which the proxy does not verify.
public struct SubjectKey: Sendable, Hashable {
  private let a, b, c, d: UInt64

  /// nil for an empty token.
  /// - Parameter client: nil: anonymous.
  public init?(token: Secret, client: String?) {
    guard !token.isEmpty else { return nil }
    let digest = SHA256.digest(parts: [client.map { Array($0.utf8) } ?? [], client == nil ? [0] : [1], token.bytes])
    (a, b, c, d) = digest.withUnsafeBytes { bytes in
      func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self) }
      return (word(0), word(1), word(2), word(3))
    }
  }
}

/// A digest of a token helps who guesses tokens, so that it is not printed either.
extension SubjectKey: CustomStringConvertible, CustomReflectable {
  public var description: String { "<subject>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Whose share of a table a subject takes. Anonymous clients count by IPv4 address or by IPv6 network: who has one address of a /64
/// has all of them.
public enum SubjectClient: Sendable, Hashable {
  case name(String)
  case address(high: UInt64, low: UInt64)
  case unix

  /// - Parameters:
  ///   - name: nil: anonymous.
  ///   - words: the 16 bytes of its address, IPv4 mapped; nil: it came over a unix socket.
  public init(name: String?, words: (high: UInt64, low: UInt64)?) {
    if let name {
      self = .name(name)
    } else if let words {
      let isMapped = words.high == 0 && words.low >> 32 == 0xffff
      self = .address(high: words.high, low: isMapped ? words.low : 0)
    } else {
      self = .unix
    }
  }

  /// nil: anonymous.
  public var name: String? { if case .name(let name) = self { name } else { nil } }
}
