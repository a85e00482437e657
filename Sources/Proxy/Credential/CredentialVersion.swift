import Credentials

/// A version of a credential, and which credential that is. Only the credential's owner makes one.
final class CredentialVersion: Sendable {
  /// Of the identity.
  let serial: UInt64
  /// Of the configuration that the owner had.
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
