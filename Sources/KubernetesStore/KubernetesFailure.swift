/// Why a token cannot be read: a clause without any of it.
public struct TokenUnreadable: Error, Sendable, Hashable {
  public let text: String
  public init(_ text: String) { self.text = text }
}

/// Why the API server did not do what was asked for. The text completes `token store <address>: ...`. Nothing of an answer's body is in it, as
/// a server could send back what it got.
enum KubernetesFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The rights that a Role must give.
  enum Verb: String, Sendable, CaseIterable { case get, watch, patch }

  case token(TokenUnreadable)
  /// No connection, or it ended before the answer: a clause.
  case unreachable(String)
  /// The trust policy refuses the server: evaluator and reason.
  case untrusted(String)
  case timedOut(milliseconds: Int)
  /// 401, also with the token read again.
  case unauthorized
  /// 403.
  case forbidden(Verb, object: String)
  /// 404.
  case absent(object: String)
  /// 409: the object has changed meanwhile.
  case outdated
  /// 410: the server no longer has the changes since this version.
  case expired
  /// 429, with the seconds of Retry-After.
  case overloaded(retryAfter: Int64?)
  /// 413 or 422.
  case invalid(status: Int, object: String)
  /// 500 and above.
  case broken(status: Int, retryAfter: Int64?)
  case unexpected(status: Int)
  case tooLarge
  /// No answer of an API server: a clause.
  case malformed(String)
  /// More changes than a fleet makes.
  case flood
  /// Others changed the object between each reading and writing, until the time was over.
  case crowded(attempts: Int)
  case tooManyWaiting
  case stopped

  var description: String {
    switch self {
    case .token(let why): "its token cannot be read: \(why.text)"
    case .unreachable(let why): why
    case .untrusted(let why): "the trust policy refuses the API server: \(why)"
    case .timedOut(let milliseconds): "the API server does not answer within \(milliseconds) ms"
    case .unauthorized:
      "the API server refuses the token (401), also after it was read again: check `token` and the ServiceAccount"
    case .forbidden(let verb, let object):
      "the ServiceAccount may not \(verb.rawValue) the \(object) (403): its Role needs the verbs get, watch and patch on it"
    case .absent(let object): "there is no \(object) (404): create it, empty, as the proxy has no right to"
    case .outdated: "the object has changed meanwhile (409)"
    case .expired: "the API server has forgotten the changes since (410)"
    case .overloaded(let seconds): "the API server has too much to do (429)\(Self.pause(seconds))"
    case .invalid(let status, let object):
      "the API server does not take the record (\(status)): the \(object) is full (1 MiB), or it is `immutable`"
    case .broken(let status, let seconds): "the API server fails (\(status))\(Self.pause(seconds))"
    case .unexpected(let status): "the API server answers \(status): check `address`"
    case .tooLarge: "the API server's answer is larger than a Secret can be"
    case .malformed(let why): "the API server's answer \(why): check `address`"
    case .flood: "the API server reports more changes than a fleet makes"
    case .crowded(let attempts): "others changed the object each time, in \(attempts) attempts"
    case .tooManyWaiting: "too many commands wait for the store"
    case .stopped: "the proxy no longer uses this store"
    }
  }

  private static func pause(_ seconds: Int64?) -> String { seconds.map { ", and asks to wait \($0) s" } ?? "" }

  /// Seconds that the server asks to wait.
  var retryAfter: Int64? {
    switch self {
    case .overloaded(let seconds), .broken(_, let seconds): seconds
    default: nil
    }
  }

  /// It concerns one command, and others may go well. After any other failure the store is out of reach.
  var isOfCommand: Bool {
    switch self {
    case .forbidden(.patch, _), .outdated, .overloaded, .invalid, .crowded, .tooManyWaiting: true
    default: false
    }
  }
}
