/// A credential that answers Digest challenges (RFC 7616).
public struct DigestPolicy: Sendable, Hashable {
  public enum Algorithm: String, Sendable, Hashable, CaseIterable {
    case sha512t256 = "SHA-512-256"
    case sha256 = "SHA-256"
    case md5 = "MD5"
  }

  /// Bytes of a user name.
  public static let maximumUserName = 1_024

  /// At most `maximumUserName` bytes, without control characters.
  public let username: String
  public let password: Secret
  /// Those that it answers to, the best first; with their `-sess` forms.
  public let algorithms: [Algorithm]

  public init(username: String, password: Secret, algorithms: [Algorithm] = Algorithm.allCases) {
    self.username = username
    self.password = password
    self.algorithms = algorithms
  }
}
