import Credentials

/// A credential that a request carries. Only this initializer checks that the credential belongs to the configuration that the
/// request began with. Heads take a credential from nothing but this.
struct AttachedCredential {
  private let rendered: RenderedCredential
  /// See `CredentialEpoch`.
  let epoch: CredentialEpoch

  /// Nil if the version has another identity than the request's configuration names, or if it is another user's token.
  /// - Parameter subject: whose request it is; asked for only if the credential has a token for each user.
  @inline(__always)
  init?(_ version: CredentialVersion, for setup: CredentialSetup, subject: @autoclosure () -> AppSubject?) {
    guard version.serial == setup.serial else { return nil }
    if setup.isPerSubject { guard let owner = version.subject, owner == subject()?.key else { return nil } }
    rendered = version.rendered
    epoch = CredentialEpoch(serial: version.serial, number: version.epoch)
  }

  var name: String { rendered.name }
  var version: UInt64 { rendered.version }
  /// What each attempt proves; nil: the line is all.
  var proof: TokenProof? { rendered.proof }
  /// What the request is signed with; nil: the line is all.
  var material: SigningMaterial? { rendered.material }
  /// The whole field line; with material what goes with every request, often nothing.
  var line: [UInt8] { rendered.line }
  /// The same version of the same credential.
  func isSame(as other: AttachedCredential) -> Bool { rendered === other.rendered }
  /// - Parameter now: monotonic milliseconds.
  func isUsable(at now: Int64) -> Bool { rendered.isUsable(at: now) }
}
