import Crypto

/// The values of one login that nobody may guess: state, nonce and the PKCE verifier (RFC 7636).
public struct LoginSecrets: Sendable, Hashable {
  /// How many random bytes a login needs: 256 bits for each value.
  public static let randomBytes = 96

  /// 43 characters of the base64url alphabet, as the others.
  let state: Secret
  let nonce: Secret
  let verifier: Secret

  /// - Parameter random: unpredictable bytes, used for no other login.
  /// - Returns: nil if there are fewer than `randomBytes`.
  public init?(random: [UInt8]) {
    guard random.count >= Self.randomBytes else { return nil }
    func part(_ index: Int) -> Secret { Secret(Base64.encodeURL(Array(random[32 * index..<32 * (index + 1)]))) }
    state = part(0)
    nonce = part(1)
    verifier = part(2)
  }

  /// RFC 7636 section 4.2, method S256.
  var challenge: String { Self.challenge(of: verifier) }

  static func challenge(of verifier: Secret) -> String {
    String(decoding: Base64.encodeURL(SHA256.digest(verifier.bytes)), as: UTF8.self)
  }

  /// In constant time, so that a local process cannot find the state byte by byte.
  func isState(_ bytes: [UInt8]) -> Bool { constantTimeEquals(bytes, state.bytes) }

  var all: [Secret] { [state, nonce, verifier] }
}
