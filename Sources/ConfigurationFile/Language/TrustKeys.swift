import Settings
import Trust

/// An evaluator of a trust policy.
struct EvaluatorKeys: KeySet {
  static let table = KeyTable(EvaluatorKeys())
  static var alternatives: [PartialKeyPath<Self>] {
    [\.chain, \.pinnedPublicKeys, \.pinnedCertificates, \.revocation, \.composite, \.disabled]
  }

  let chain = Key(
    "default", .section(ChainKeys.self, mayBeEmpty: true), .otherwise(another),
    "Validates chain and host, and sets anchors and TLS version of the whole policy.")
  let pinnedPublicKeys = Key(
    "pinned_public_keys", .section(PinnedKeyKeys.self), .otherwise(another), "Requires a public key of the chain to be pinned.")
  let pinnedCertificates = Key(
    "pinned_certificates", .section(PinnedCertificateKeys.self), .otherwise(another),
    "Requires a certificate of the chain to be pinned.")
  let revocation = Key(
    "revocation", .section(RevocationKeys.self, mayBeEmpty: true), .otherwise(another), "Refuses revoked certificates.")
  let composite = Key(
    "composite", .list(of: .section(EvaluatorKeys.self)), .otherwise(another), "Passes if all of these evaluators pass.")
  let disabled = Key(
    "disabled", .section(NoKeys.self, mayBeEmpty: true), .otherwise(another), "Trusts everybody; it must stand alone.")

  private static let another = "another evaluator"
}

/// A section that only has to be there.
struct NoKeys: KeySet {
  static let table = KeyTable(NoKeys())
}

/// What the evaluators that do more check as well.
struct ValidationKeys: KeyGroup {
  private static let standard = TrustPolicy.Validation()

  let chain = Key("validate_chain", .boolean, default: standard.chain, "Validates the chain up to an anchor.")
  let host = Key("validate_host", .boolean, default: standard.host, "Validates that the certificate names the host.")
}

/// `trust.*.default`.
struct ChainKeys: KeySet {
  static let table = KeyTable(ChainKeys())

  let caFile = Key("ca_file", .file, .otherwise("the system's roots"), "Names a file of anchors.")
  let systemRoots = Key(
    "system_roots", .boolean, .otherwise("true where there is no 'ca_file', else false"), "Trusts the system's roots as well.")
  let host = Key("validate_host", .boolean, default: true, "Validates that the certificate names the host.")
  let minVersion = Key(
    "min_version", .choice([TrustPolicy.TLSVersion.tls12, .tls13]), default: .tls12, "Refuses TLS versions below it.")
}

/// `trust.*.pinned_public_keys`.
struct PinnedKeyKeys: KeySet {
  static let table = KeyTable(PinnedKeyKeys())

  let pins = Key("pins", .texts(.pin), .list([]), "Lists SHA-256 digests of public keys.")
  let certificates = Key("certificates", .texts(.file), .list([]), "Names certificate files whose public keys are pinned.")
  let expires = Key(
    "expires", .text(.date), .otherwise("never"),
    "Is the last day on which pins are enforced, or the time until which they are.")
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
    "methods", .texts(of: .words(allMethods)), .list(standard.methods.map(\.rawValue)), "Lists what is asked, in this order.")
  let responder = Key(
    "responder", .text(.url), .otherwise("the certificate's own pointer"), "Is the OCSP responder that is asked.")
  let crlFiles = Key("crl_files", .texts(.file), .list([]), "Names local files of CRLs.")
  let network = Key(
    "network", .boolean, default: standard.network, "Fetches answers; false leaves stapled, local and cached ones.")
  let timeout = Key("timeout", .duration(), default: standard.timeout, "Bounds one fetch.")
  let requirePositiveResponse = Key(
    "require_positive_response", .boolean, default: standard.requirePositiveResponse,
    "Refuses a certificate about which there is no answer.")
  let check = Key(
    "check", .choice([TrustPolicy.Revocation.Scope.chain, .leaf]), default: standard.scope,
    "Says which certificates are checked.")
  let validation = ValidationKeys()

  static let allMethods = [TrustPolicy.Revocation.Method.ocsp, .crl].map(\.rawValue)
}
