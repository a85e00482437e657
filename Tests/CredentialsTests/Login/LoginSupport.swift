import Crypto
import JSON
import Testing

@testable import Credentials

let loginIssuer = "https://login.example.com"

/// Values that no text may contain.
enum Hidden {
  static let code = "c0de-SplxlOBeZQQYbYS6WxSbIA"
  static let accessToken = "acc3ss-2YotnFZFEjr1zCsicMWpAA"
  static let refreshToken = "refr3sh-tGzv3JOkF0XG5Qx2TlKWIA"
  static let deviceCode = "dev1ce-GmRhmhcxhwAzkoEqiMEg"
  static let clientSecret = "cl1ent-s3cret"
}

extension LoginSecrets {
  static func sample(_ byte: UInt8 = 1) throws -> LoginSecrets {
    try #require(LoginSecrets(random: (0..<96).map { byte &+ UInt8($0) }))
  }
}

func loginPolicy(
  issuer: String? = loginIssuer, tokenURL: String = "https://login.example.com/token",
  endpoints: OAuth2Policy.ExplicitEndpoints = .init(), settings: LoginSettings = .init(), isDevice: Bool = false,
  authentication: OAuth2Policy.ClientAuthentication = .none, scope: String? = "openid offline_access", resource: [String] = [],
  parameters: [String: String] = [:], certificate: OAuth2Policy.ClientCertificate? = nil
) -> OAuth2Policy {
  OAuth2Policy(
    endpoint: issuer.map { .issuer(url: $0) } ?? .token(url: tokenURL), endpoints: endpoints,
    grant: isDevice ? .deviceCode(settings) : .authorizationCode(settings), clientID: "my-app",
    clientAuthentication: authentication, clientCertificate: certificate, scope: scope, resource: resource,
    parameters: parameters)
}

/// A metadata document: every endpoint but PAR's, unless `changes` say otherwise. nil removes a member.
func metadata(_ changes: [String: JSONValue?] = [:]) -> [UInt8] {
  var members: [String: JSONValue] = [
    "issuer": .string(loginIssuer), "authorization_endpoint": "https://login.example.com/authorize",
    "token_endpoint": "https://login.example.com/token", "device_authorization_endpoint": "https://login.example.com/device",
    "revocation_endpoint": "https://login.example.com/revoke", "code_challenge_methods_supported": .array(["S256", "plain"]),
  ]
  for (name, value) in changes { members[name] = value }
  return JSONValue.object(members.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }).text
}

/// A JWT without a right signature.
func jwt(_ claims: JSONValue) -> String {
  let parts = [JSONValue(dictionaryLiteral: ("alg", "RS256")).text, claims.text, bytes("signature")]
  return parts.map { text(Base64.encodeURL($0)) }.joined(separator: ".")
}

func claims(_ changes: [String: JSONValue?] = [:]) -> JSONValue {
  var members: [String: JSONValue] = [
    "iss": .string(loginIssuer), "sub": "alice-17", "aud": "my-app", "exp": .integer(1_800_003_600),
    "email": "alice@example.com",
  ]
  for (name, value) in changes { members[name] = value }
  return .object(members.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) })
}

func json(_ members: [String: JSONValue?]) -> [UInt8] {
  JSONValue.object(
    members.sorted { $0.key < $1.key }.compactMap { member in member.value.map { .init(name: member.key, value: $0) } }
  ).text
}

extension EndpointAnswer {
  static func ok(_ body: [UInt8], _ status: Int = 200) -> EndpointAnswer {
    .response(status: status, retryAfter: nil, body: Secret(body))
  }
  static func status(_ status: Int, retryAfter: Int64? = nil, _ body: String = "") -> EndpointAnswer {
    .response(status: status, retryAfter: retryAfter, body: Secret(body))
  }
  static func refusal(_ error: String, _ description: String? = nil) -> EndpointAnswer {
    .ok(json(["error": .string(error), "error_description": description.map { .string($0) }]), 400)
  }
}

extension TokenHTTPRequest {
  /// The form's fields in their order, decoded.
  var form: [String] {
    text(body.bytes).split(separator: "&").map {
      text(QueryText.fields(Array($0.utf8))?.first.map { $0.name + [0x3d] + $0.value } ?? [])
    }
  }
  func field(_ name: String) -> String? {
    form.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
  }
}
