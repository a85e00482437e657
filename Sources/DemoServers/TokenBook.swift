import CSystem
import Crypto

/// The access tokens that the servers issued and the API looks up. Belongs to the loop of both.
public final class TokenBook {
  public struct Token: Equatable {
    public var number: Int
    /// Who logged in; nil: the app itself.
    public var person: String?
    /// Thumbprint of the key that requests must prove (RFC 9449 section 6.1); nil: a bearer token.
    public var key: String?
  }

  public enum Standing: Equatable {
    case valid(Token)
    case expired(number: Int)
    case revoked(number: Int)
    case unknown
  }

  private struct Entry {
    var token: Token
    /// Nanoseconds of the monotonic clock.
    var expires: Int64
    var isRevoked = false
  }

  private var entries: [String: Entry] = [:]
  private var count = 0

  public init() {}

  /// - Parameter seconds: lifetime.
  public func issue(
    seconds: Int, to person: String? = nil, key: String? = nil
  ) throws(OpenSSLError) -> (text: String, number: Int) {
    count += 1
    let text = try Self.randomText()
    let expires = csys_monotonic() + Int64(seconds) * 1_000_000_000
    // Forget tokens that expired long ago, as a demo may run for days.
    entries = entries.filter { $0.value.expires > csys_monotonic() - 60_000_000_000 }
    entries[text] = Entry(token: Token(number: count, person: person, key: key), expires: expires)
    return (text, count)
  }

  public func standing(of text: String) -> Standing {
    guard let entry = entries[text] else { return .unknown }
    if entry.isRevoked { return .revoked(number: entry.token.number) }
    return entry.expires > csys_monotonic() ? .valid(entry.token) : .expired(number: entry.token.number)
  }

  public func revoke(_ text: String) { entries[text]?.isRevoked = true }

  /// 128 random bits in hexadecimal.
  public static func randomText() throws(OpenSSLError) -> String {
    Hexadecimal.text(try SecureRandom.bytes(16))
  }
}
