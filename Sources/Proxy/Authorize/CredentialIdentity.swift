import Credentials
import Crypto

/// Which credential it is: a name can stand for another one after a reload. All that one configuration's requests may carry is bound
/// to this; nothing of another identity is ever attached to them.
///
/// Rotating secrets and times are left out, so a reload that changes only those keeps tokens, waiters and versions. A static
/// credential's identity has the origins that it is given to: its next value may be meant for others.
public final class CredentialIdentity: Sendable, Hashable {
  public let name: String
  /// Different for each identity of a process: a name that gets an earlier digest back is still another one, so that a late message
  /// of the earlier one finds nobody.
  let serial: UInt64
  private let digest: [UInt8]

  /// - Parameter previous: of the configuration before; goes on being valid if the digest is the same.
  init(_ name: String, digest: [UInt8], after previous: CredentialIdentity?, serial: @autoclosure () -> UInt64) {
    self.name = name
    self.digest = digest
    self.serial = if let previous, previous.digest == digest { previous.serial } else { serial() }
  }

  public static func == (left: CredentialIdentity, right: CredentialIdentity) -> Bool { left.serial == right.serial }
  public func hash(into hasher: inout Hasher) { hasher.combine(serial) }

  /// - Parameter grants: digests of where the configuration lets the credential be sent.
  static func digest(of policy: CredentialPolicy, grants: [[UInt8]]) -> [UInt8] {
    var parts = policy.continuity
    // Tokens are the token server's, whoever they are sent to; a static value is what its source holds at the time.
    if case .oauth2 = policy.kind {} else { parts += Set(grants).sorted { $0.lexicographicallyPrecedes($1) } }
    return SHA256.digest(parts: parts)
  }
}

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
