import Crypto

/// Keys of `credentials.*.oauth2` about the client's certificate and its signatures.
struct ProofKeys: KeyGroup {
  /// Those that authorization servers take.
  static let signingAlgorithms: [PrivateKey.JWSAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

  let signingAlgorithm = Key(
    "signing_algorithm", .choice(Self.signingAlgorithms),
    .otherwise("RS256 for RSA, ES256 for P-256, ES384 for P-384, EdDSA for Ed25519"),
    "Says how the private key signs.")
  let clientCertificate = Key(
    "client_certificate", .section(ClientCertificateKeys.self), .otherwise("none"),
    "The certificate that the proxy presents to every endpoint of the server (RFC 8705).")
  let certificateBound = Key(
    "certificate_bound", .boolean, default: false,
    "Says that the server binds tokens to the certificate, so that the proxy presents it to origins, too.")
}
