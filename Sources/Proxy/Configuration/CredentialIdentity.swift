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
