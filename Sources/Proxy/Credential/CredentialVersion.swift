import Credentials

/// A version of a credential, and the credential that it belongs to. Only the credential's owner creates one.
final class CredentialVersion: Sendable {
  /// Serial of the identity.
  let serial: UInt64
  /// Generation of the configuration that the owner had.
  let generation: Int
  let rendered: RenderedCredential
  /// Whose token it is; nil: everybody's.
  let subject: SubjectKey?
  /// Which account it is for; see `CredentialEpoch`.
  let epoch: UInt64

  init(_ rendered: RenderedCredential, of owner: CredentialOwner) {
    self.rendered = rendered
    serial = owner.setup.identity.serial
    generation = owner.setup.generation
    subject = nil
    epoch = owner.standing.present
  }

  /// A token of one user of an app, from the credential's table.
  init(_ rendered: RenderedCredential, of setup: CredentialSetup, subject: SubjectKey) {
    self.rendered = rendered
    serial = setup.serial
    generation = setup.generation
    self.subject = subject
    epoch = 0
  }

  var number: UInt64 { rendered.version }
  /// - Parameter now: monotonic milliseconds.
  func isUsable(at now: Int64) -> Bool { rendered.isUsable(at: now) }
}
