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

/// What a request carries. That it belongs to the configuration which the request began with is checked here and nowhere else;
/// heads take a credential from nothing but this.
struct AttachedCredential {
  private let rendered: RenderedCredential

  /// Nil if the version is of another identity than the request's configuration has.
  init?(_ version: CredentialVersion, for setup: CredentialSetup) {
    guard version.serial == setup.serial else { return nil }
    rendered = version.rendered
  }

  var name: String { rendered.name }
  var version: UInt64 { rendered.version }
  /// The whole field line.
  var line: [UInt8] { rendered.line }
  /// - Parameter now: monotonic milliseconds.
  func isUsable(at now: Int64) -> Bool { rendered.isUsable(at: now) }
}
