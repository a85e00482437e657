import Credentials
import Crypto

/// Identifies a credential: after a reload a name can mean another one. A request carries only credentials with the identity
/// that its configuration names.
///
/// Rotating secrets and times are left out, so a reload that changes only those keeps tokens, waiters and versions. The
/// identity of a static credential includes the origins that get it, because its next value may be meant for others.
public final class CredentialIdentity: Sendable, Hashable {
  public let name: String
  /// Different for each identity of a process. A name that gets an earlier digest back has another serial, so a late message of
  /// the earlier identity finds no owner and no view.
  let serial: UInt64
  private let digest: [UInt8]

  /// - Parameter previous: the name's identity in the configuration before; kept if the digest is the same.
  init(_ name: String, digest: [UInt8], after previous: CredentialIdentity?, serial: @autoclosure () -> UInt64) {
    self.name = name
    self.digest = digest
    self.serial = if let previous, previous.digest == digest { previous.serial } else { serial() }
  }

  public static func == (left: CredentialIdentity, right: CredentialIdentity) -> Bool { left.serial == right.serial }
  public func hash(into hasher: inout Hasher) { hasher.combine(serial) }

  /// - Parameters:
  ///   - grants: digests of where the configuration lets the credential be sent.
  ///   - exchanged: the credentials whose tokens it exchanges: another one of the same name may belong to another person.
  static func digest(of policy: CredentialPolicy, grants: [[UInt8]], exchanged: [CredentialIdentity]) -> [UInt8] {
    var parts = policy.continuity + exchanged.map(\.digest)
    // Tokens belong to the token server, wherever they are sent, and tickets to one service each. A static value is what its source holds at
    // the time.
    if !policy.belongsElsewhere { parts += Set(grants).sorted { $0.lexicographicallyPrecedes($1) } }
    return SHA256.digest(parts: parts)
  }
}

extension CredentialPolicy {
  /// What is had for it does not depend on the entries that send it. A new identity for each new entry would throw away held tickets, and
  /// forget that the KDC refused the key.
  fileprivate var belongsElsewhere: Bool {
    if case .negotiate = kind { return true }
    return tokens != nil
  }
}
