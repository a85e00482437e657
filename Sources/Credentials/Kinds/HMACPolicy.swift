/// A credential that signs a message made of the request's parts with a shared key.
public struct HMACPolicy: Sendable, Hashable {
  public enum Algorithm: String, Sendable, Hashable, CaseIterable { case sha1, sha256, sha384, sha512 }
  public enum Output: String, Sendable, Hashable, CaseIterable { case hex, base64, base64url }
  public enum Timestamp: String, Sendable, Hashable, CaseIterable {
    case unix
    case unixMilliseconds = "unix_ms"
    case iso8601
    case httpDate = "http_date"
  }
  /// A field that the signature writes.
  public struct SignedField: Sendable, Hashable {
    public let name: String
    /// With placeholders.
    public let value: String
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// Decoded.
  public let key: Secret
  public let algorithm: Algorithm
  /// With placeholders.
  public let message: String
  public let output: Output
  public let timestamp: Timestamp
  /// Further placeholders.
  public let values: [String: Secret]
  /// In the order of the configuration.
  public let fields: [SignedField]

  public init(
    key: Secret, algorithm: Algorithm, message: String, output: Output, timestamp: Timestamp, values: [String: Secret],
    fields: [SignedField]
  ) {
    self.key = key
    self.algorithm = algorithm
    self.message = message
    self.output = output
    self.timestamp = timestamp
    self.values = values
    self.fields = fields
  }
}
