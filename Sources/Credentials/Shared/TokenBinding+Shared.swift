import Crypto
import JSON

extension TokenBinding {
  /// Identifies a record in a store that many processes share: who could not get a token from the token server does not get it from the
  /// store. So it has all of `digest`, and for grants without a refresh token also what the token is asked for with, and who asks. Secrets
  /// are in it as a digest with the store's key: a name in the store helps nobody to guess one.
  /// - Returns: nil if nobody can tell who asks: an assertion without readable `iss` and `sub`, a private key that cannot be read, another
  ///   credential's token. Such a credential is not shared.
  public static func shared(of policy: OAuth2Policy, for seal: RecordSeal) -> [UInt8]? { shared(of: policy, key: seal.key) }

  static func shared(of policy: OAuth2Policy, key: Secret) -> [UInt8]? {
    guard !policy.grant.isStored else { return digest(of: policy) }
    guard let client = client(policy, key), let grant = grant(policy, key) else { return nil }
    return SHA256.digest(
      parts: [Array("authproxy shared binding 1".utf8), digest(of: policy), request(of: policy), policy.boundThumbprint ?? []]
        + client + grant)
  }

  /// Whether a ready assertion says who asks.
  public static func isNamed(_ assertion: Secret) -> Bool { parties(of: assertion) != nil }

  private static func client(_ policy: OAuth2Policy, _ key: Secret) -> [[UInt8]]? {
    switch policy.clientAuthentication {
    case .basic(let secret), .post(let secret), .secretJWT(let secret): keyed(secret, key).map { [text("secret"), $0] }
    case .privateKeyJWT(let signing): publicKey(signing).map { [text("key"), $0] }
    case .clientAssertion(let assertion): parties(of: assertion).map { [text("assertion")] + $0 }
    case .certificate: policy.clientCertificate.map { [text("certificate"), $0.thumbprint] }
    case .none: [text("none")]
    }
  }

  private static func grant(_ policy: OAuth2Policy, _ key: Secret) -> [[UInt8]]? {
    switch policy.grant {
    case .clientCredentials: []
    case .password(_, let password): keyed(password, key).map { [$0] }
    case .jwtBearer(.signed(let issuer, let subject, let audience, _, let signing)):
      publicKey(signing).map { [text(issuer), text(subject), text(audience), $0] }
    case .jwtBearer(.ready(let assertion)): parties(of: assertion)
    case .tokenExchange(let settings): exchange(settings)
    case .jwtBearer(.client), .source, .refreshToken, .authorizationCode, .deviceCode: nil
    }
  }

  private static func exchange(_ settings: ExchangeSettings) -> [[UInt8]]? {
    var parts: [[UInt8]] = []
    for party in [settings.subject, settings.actor] {
      guard let party else { continue }
      // Another credential's token may be another person's tomorrow, and the app's is its user's.
      guard case .secret(let token) = party.source, let named = parties(of: token) else { return nil }
      parts += named
    }
    return parts
  }

  /// `iss` and `sub` of an assertion: its bytes are new each time, and each machine's own.
  private static func parties(of assertion: Secret) -> [[UInt8]]? {
    let parts = assertion.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let body = Base64.decodeURL(parts[1]), let claims = try? JSONParser.parse(body),
      let issuer = claims["iss"]?.string, let subject = claims["sub"]?.string, !issuer.isEmpty, !subject.isEmpty
    else { return nil }
    return [text(issuer), text(subject)]
  }

  private static func publicKey(_ signing: OAuth2Policy.SigningKey) -> [UInt8]? {
    let key = try? PrivateKey(pem: signing.pem.bytes, passphrase: signing.passphrase?.bytes)
    return key.map { SHA256.digest($0.publicKeyInfo) }
  }

  private static func keyed(_ secret: Secret, _ key: Secret) -> [UInt8]? {
    try? HMACSHA256.code(of: text("authproxy shared binding 1 ") + secret.bytes, key: key.bytes)
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }
}
