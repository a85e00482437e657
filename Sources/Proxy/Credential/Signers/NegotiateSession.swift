import Credentials
import Kerberos
import Upstreams

/// What one request knows of its authentication to the origin, over all its attempts.
final class NegotiateSession {
  /// What the configuration asked of answers when the attempt was sent.
  var mutual = NegotiatePolicy.Mutual.optional
  /// Of the attempt in progress.
  var authentication: (any Authentication)?
  /// The origin has proved in this authentication that it has the service's key.
  var isProved = false
  /// Version of the ticket that it carries; 0: none yet.
  var version: UInt64 = 0
  /// The origin refused tickets up to this version.
  var refused: UInt64 = 0
  /// A ticket was fetched again for this request: once is enough.
  var hasRefetched = false
  /// The next token of an authentication in progress, for that connection alone.
  var next: [UInt8] = []
  weak var connection: UpstreamConnection?
  /// Tokens that the origin answered with 401 and a token.
  var rounds = 0
  var tickets = Waits()

  /// How the request waited for tickets.
  struct Waits {
    /// How often.
    var count = 0
    /// How often because keytab or ticket cache had changed.
    var changes = 0
    /// Tickets up to this version may have been refused: it waits a moment for another one, and uses the held one otherwise.
    var doubted: UInt64 = 0
    /// Why the ticket that it waited for did not come.
    var problem: ProxyError?
  }
}
