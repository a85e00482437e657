import Settings
import Trust

/// An evaluator of a trust policy.
struct EvaluatorKeys: KeySet {
  static let table = KeyTable(EvaluatorKeys())
  static var alternatives: [(Self) -> DescribedKey] {
    [\.chain, \.pinnedPublicKeys, \.pinnedCertificates, \.revocation, \.composite, \.disabled]
  }

  let chain = Key(
    "default", .section(ChainKeys.self, mayBeEmpty: true), .otherwise(another),
    "Validates chain and host; sets anchors and TLS version for the whole policy.")
  let pinnedPublicKeys = Key(
    "pinned_public_keys", .section(PinnedKeyKeys.self), .otherwise(another), "Requires a pinned public key in the chain.")
  let pinnedCertificates = Key(
    "pinned_certificates", .section(PinnedCertificateKeys.self), .otherwise(another),
    "Requires a pinned certificate in the chain.")
  let revocation = Key(
    "revocation", .section(RevocationKeys.self, mayBeEmpty: true), .otherwise(another), "Refuses revoked certificates.")
  let composite = Key(
    "composite", .list(of: .section(EvaluatorKeys.self)), .otherwise(another), "Passes if all of these evaluators pass.")
  let disabled = Key(
    "disabled", .section(NoKeys.self, mayBeEmpty: true), .otherwise(another),
    "Trusts every server; it must be the only evaluator.")

  private static let another = "another evaluator"
}

/// A section without keys.
struct NoKeys: KeySet {
  static let table = KeyTable(NoKeys())
}

/// The checks that pins and revocation make as well.
struct ValidationKeys: KeyGroup {
  private static let standard = TrustPolicy.Validation()

  let chain = Key("validate_chain", .boolean, default: standard.chain, "Validates the chain to an anchor.")
  let host = Key("validate_host", .boolean, default: standard.host, "Validates that the certificate names the host.")
}

/// `trust.*.default`.
struct ChainKeys: KeySet {
  static let table = KeyTable(ChainKeys())

  let caFile = Key("ca_file", .file, .otherwise("the system's roots"), "Names a file of anchors.")
  let systemRoots = Key(
    "system_roots", .boolean, .otherwise("true if there is no 'ca_file', else false"), "Trusts the system's roots as well.")
  let host = Key("validate_host", .boolean, default: true, "Validates that the certificate names the host.")
  let minVersion = Key(
    "min_version", .choice([TrustPolicy.TLSVersion.tls12, .tls13]), default: .tls12, "Refuses TLS versions below it.")
}

/// `trust.*.pinned_public_keys`.
struct PinnedKeyKeys: KeySet {
  static let table = KeyTable(PinnedKeyKeys())

  let pins = Key("pins", .texts(.pin), .list([]), "Lists SHA-256 digests of public keys.")
  let certificates = Key("certificates", .texts(.file), .list([]), "Names certificate files and pins their public keys.")
  let expires = Key(
    "expires", .text(.date), .otherwise("never"),
    "The last day on which pins are enforced, or the time until which they are.")
  let enforce = Key("enforce", .boolean, default: true, "Refuses a chain without a pinned key; false only reports it.")
  let validation = ValidationKeys()
}

/// `trust.*.pinned_certificates`.
struct PinnedCertificateKeys: KeySet {
  static let table = KeyTable(PinnedCertificateKeys())

  let certificates = Key("certificates", .texts(.file), .required, "Names the files of the pinned certificates.")
  let acceptSelfSigned = Key("accept_self_signed", .boolean, default: false, "Makes these certificates the only anchors.")
  let validation = ValidationKeys()
}

/// `trust.*.revocation`.
struct RevocationKeys: KeySet {
  static let table = KeyTable(RevocationKeys())
  private static let standard = TrustPolicy.Revocation()

  let methods = Key(
    "methods", .texts(of: .words(allMethods)), .list(standard.methods.map(\.rawValue)),
    "Lists what the proxy asks, in this order.")
  let responder = Key(
    "responder", .text(.url), .otherwise("the certificate's own pointer"), "The OCSP responder that the proxy asks.")
  let crlFiles = Key("crl_files", .texts(.file), .list([]), "Names local files of CRLs.")
  let network = Key(
    "network", .boolean, default: standard.network, "Fetches answers; with false only stapled, local and cached ones count.")
  let timeout = Key("timeout", .duration(), default: standard.timeout, "Bounds the time of one fetch.")
  let requirePositiveResponse = Key(
    "require_positive_response", .boolean, default: standard.requirePositiveResponse,
    "Refuses a certificate if there is no answer about it.")
  let check = Key(
    "check", .choice([TrustPolicy.Revocation.Scope.chain, .leaf]), default: standard.scope,
    "Says which certificates the proxy checks.")
  let validation = ValidationKeys()

  static let allMethods = [TrustPolicy.Revocation.Method.ocsp, .crl].map(\.rawValue)
}
