import Credentials
import Settings

/// `credentials.*.jwt`.
struct JWTKeys: KeySet {
  static let table = KeyTable(JWTKeys())

  let privateKey = Key("private_key", .secret, .otherwise("'secret' is used"), "Signs the JWT: RSA, P-256, P-384 or Ed25519.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the private key.")
  let secret = Key(
    "secret", .secret, .otherwise("'private_key' is used"), "Signs with HS256, HS384 or HS512; of 32 bytes or more.")
  let algorithm = Key(
    "algorithm", .choice(JWTPolicy.Algorithm.allCases),
    .otherwise("RS256 for RSA, ES256 for P-256, ES384 for P-384, EdDSA for Ed25519, HS256 for a secret"),
    "Says how the key signs.")
  let keyID = Key("key_id", .text(.anything), .otherwise("not sent"), "Tells the server which key it is (kid).")
  let issuer = Key("issuer", .text(.anything), .otherwise("not sent"), "The claim iss.")
  let subject = Key("subject", .text(.anything), .otherwise("not sent"), "The claim sub.")
  let audience = Key("audience", .text(.anything), .otherwise("not sent"), "The claim aud.")
  let claims = Key(
    "claims", .claims, .otherwise("none"), "More claims: texts and lists of texts by name, or one text that is a JSON object.")
  let preset = Key(
    "preset", .choice(JWTPolicy.Preset.allCases), .otherwise("none"),
    "The rules of Apple's push service: ES256, no exp, minted at 50 minutes, never within 20 of the last.")
  let lifetime = Key("lifetime", .duration(atLeast: 1000), default: 600_000, "Sets how long after iat exp lies.")
  let backdate = Key("backdate", .duration(atLeast: 0), default: 60_000, "Sets how far in the past iat lies.")
  let expiration = Key("expiration", .boolean, default: true, "Says whether the JWT has the claim exp.")
  let field = Key("field", .text(.fieldName), .text("Authorization"), "The field that carries the JWT.")
  let format = Key("format", .text(.jwtFormat), .text("Bearer {jwt}"), "The field's value, with {jwt} in place of the JWT.")
  let retryStatuses = Key(
    "retry_statuses", .statuses, default: [401], "Lists the statuses with which an upstream refuses the JWT.")
}

/// `claims` as written.
enum WrittenClaims {
  case json(Located<String>)
  case members([Member])

  struct Member {
    var name: Located<String>
    var path: KeyPath
    /// nil after an error.
    var values: [TextItem]?
    var isList: Bool
  }
}

extension Form where Value == WrittenClaims {
  static var claims: Form {
    let list = Form<[TextItem]>.texts(.anything)
    let shape = Shape.oneOf([.text(.jsonObject), .map(of: .oneOrMore(of: .text(.anything)))])
    return Form(shape: shape) { reading, written in
      if case .scalar = written.node.content { return reading.text(written.node, written.path).map { .json($0) } }
      return reading.named(written).map { members in
        .members(
          members.map { name, value in
            if case .sequence = value.node.content {
              return .init(name: name, path: value.path, values: list.read(reading, value), isList: true)
            }
            let text = reading.text(value.node, value.path).map { [TextItem(text: $0, path: value.path)] }
            return .init(name: name, path: value.path, values: text, isList: false)
          })
      }
    }
  }
}
