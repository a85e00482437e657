import Credentials
import Files
import Kerberos

/// What the owner of a `negotiate` credential tells loops about one service.
struct TicketNews: Sendable {
  let service: String
  /// Version of the credential.
  let of: UInt64
  let outcome: Outcome

  enum Outcome: Sendable {
    case ticket(Held)
    case failure(Failure)
  }

  struct Held: Sendable {
    let ticket: any ServiceTicket
    let version: UInt64
    /// Version of the credential.
    let of: UInt64
    /// Monotonic milliseconds.
    let expiry, renewal: Int64
    /// The state of keytab or ticket cache before it was fetched.
    let mark: FileIdentity?
  }

  struct Failure: Sendable {
    let why: CredentialUnavailable
    /// The state of keytab or ticket cache in which it failed.
    let mark: FileIdentity?
    /// Milliseconds until the next try.
    let pause: Int64
  }
}
