import RESP

/// Why the store did not do what was asked for. The text completes "token store <address>: ...", and has no secret in it.
public enum RedisFailure: Error, Sendable, Hashable, CustomStringConvertible {
  case refused(RedisRefusal)
  /// No connection: a clause.
  case unreachable(String)
  /// The trust policy refuses the server: evaluator, reason, detail.
  case untrusted(String)
  case connectTimeout(milliseconds: Int)
  case replyTimeout(milliseconds: Int)
  case closed
  case malformed(RESPFault)
  /// RESP3, but no reply to what was asked for.
  case unexpectedReply
  /// The server is a replica by its own word.
  case notPrimary
  /// A Sentinel where a server is expected, or the other way round.
  case wrongMode
  /// The Sentinel does not know a primary of this name.
  case primaryUnknown(name: String)
  /// None of the Sentinels named a primary that is one; what the last one's failure was.
  case noSentinel(String)
  /// The server is beyond loopback, and it would be spoken to in clear.
  case plaintextForbidden(String)
  case tooManyRedirections
  case tooManyWaiting
  /// The client was stopped.
  case stopped

  public var description: String {
    switch self {
    case .refused(let refusal): "\(refusal)"
    case .unreachable(let reason): reason
    case .untrusted(let reason): "the trust policy refuses the server: \(reason)"
    case .connectTimeout(let milliseconds): "no connection within \(milliseconds) ms"
    case .replyTimeout(let milliseconds): "no reply within \(milliseconds) ms"
    case .closed: "the server closed the connection"
    case .malformed(let fault): "the server's reply \(fault): is it Redis or Valkey?"
    case .unexpectedReply: "the server's reply does not belong to the command: is a proxy between?"
    case .notPrimary: "the server is a replica: `address` must lead to the primary; `sentinel` follows it"
    case .wrongMode: "the server is a Sentinel, or is none where one is expected: check `address` and `sentinel`"
    case .primaryUnknown(let name): "the Sentinel does not know a primary named \(name): check `sentinel.name`"
    case .noSentinel(let reason): "no Sentinel leads to a primary: \(reason)"
    case .plaintextForbidden(let address):
      "\(address) is beyond loopback: use rediss://, or say `allow_plaintext: true`"
    case .tooManyRedirections: "the cluster's nodes redirect to each other"
    case .tooManyWaiting: "too many commands wait for the store"
    case .stopped: "the proxy no longer uses this store"
    }
  }
}
