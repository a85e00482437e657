import Credentials

/// `credentials.*.http_signature`.
struct HTTPSignatureKeys: KeySet {
  static let table = KeyTable(HTTPSignatureKeys())

  let keyID = Key("key_id", .text(.anything), .required, "Tells the server which key it is (keyid).")
  let privateKey = Key(
    "private_key", .secret, .otherwise("'secret' is used"), "Signs requests: Ed25519, P-256, P-384 or RSA.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the private key.")
  let secret = Key("secret", .secret, .otherwise("'private_key' is used"), "Signs with hmac-sha256.")
  let algorithm = Key(
    "algorithm", .choice(HTTPSignaturePolicy.Algorithm.allCases),
    .otherwise("ed25519, ecdsa-p256-sha256, ecdsa-p384-sha384 or rsa-pss-sha512, by key; hmac-sha256 for a secret"),
    "Says how the key signs.")
  let components = Key(
    "components", .texts(.component), .list(HTTPSignaturePolicy.defaultComponents),
    "What the signature covers, in this order; a field that the request lacks is left out.")
  let contentDigest = Key(
    "content_digest", .choice(HTTPSignaturePolicy.ContentDigest.allCases), default: .sha256, "The hash of bodies (RFC 9530).")
  let expires = Key(
    "expires", .duration(atLeast: 1000), .otherwise("not sent"), "Sets how long after its creation a signature ends.")
  let tag = Key("tag", .text(.anything), .otherwise("not sent"), "Says what the signature is for.")
  let nonce = Key("nonce", .boolean, default: false, "Adds a random value to each signature.")
  let label = Key("label", .text(.structuredKey), .text("sig1"), "The signature's name in its fields.")
}
