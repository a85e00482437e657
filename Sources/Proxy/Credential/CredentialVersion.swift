import Credentials

/// A version of a credential, and the credential that it belongs to. Only the credential's owner creates one.
final class CredentialVersion: Sendable {
  /// Serial of the identity.
  let serial: UInt64
  /// Generation of the configuration that the owner had.
  let generation: Int
  let rendered: RenderedCredential

  init(_ rendered: RenderedCredential, of owner: CredentialOwner) {
    self.rendered = rendered
    serial = owner.setup.identity.serial
    generation = owner.setup.generation
  }

  var number: UInt64 { rendered.version }
  /// - Parameter now: monotonic milliseconds.
  func isUsable(at now: Int64) -> Bool { rendered.isUsable(at: now) }
}
