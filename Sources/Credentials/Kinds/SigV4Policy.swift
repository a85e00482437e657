/// A credential that signs requests to AWS and what speaks its language (Signature Version 4). All durations are milliseconds.
public struct SigV4Policy: Sendable, Hashable {
  /// A signing name or a region: what requests may be signed for.
  public enum Scope: Sendable, Hashable {
    /// As the app's own signature has it, else as the host says.
    case auto
    /// The same, but only one of these.
    case oneOf([String])
    case named(String)
  }
  public enum Payload: Sendable, Hashable { case auto, signed, unsigned }

  public let service: Scope
  public let region: Scope
  public let payload: Payload
  public let keys: Keys
  /// Where neither the app's signature nor the host says one.
  public let defaultRegion: String?

  public enum Keys: Sendable, Hashable {
    case fixed(AWSKeys)
    /// Temporary ones, which the token machine keeps.
    case fetched(OAuth2Policy)
  }

  public init(service: Scope, region: Scope, payload: Payload, keys: Keys, defaultRegion: String? = nil) {
    self.service = service
    self.region = region
    self.payload = payload
    self.keys = keys
    self.defaultRegion = defaultRegion
  }

  /// The same with other keys.
  public func with(_ keys: Keys) -> SigV4Policy {
    SigV4Policy(service: service, region: region, payload: payload, keys: keys, defaultRegion: defaultRegion)
  }
}

/// What signs for an AWS principal.
public struct AWSKeys: Sendable, Hashable {
  public let accessKeyID: String
  public let secretAccessKey: Secret
  /// With temporary keys.
  public let sessionToken: Secret?
  public init(accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
  }

  /// They can be written into fields.
  var isValid: Bool {
    let isVisible: (UInt8) -> Bool = { 0x21...0x7e ~= $0 }
    return !accessKeyID.isEmpty && accessKeyID.utf8.allSatisfy(isVisible) && !secretAccessKey.isEmpty
      && (sessionToken?.bytes.allSatisfy(isVisible) ?? true)
      && sessionToken?.bytes.count ?? 0 <= CredentialRenderer.maximumValue
  }
}
