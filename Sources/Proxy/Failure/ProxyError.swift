import CSystem
import Credentials
import EventIO
import Forwarding
import HTTPWire
import Routing
import Upstreams

/// Everything that can go wrong with a request. Only `Answer+ProxyError.swift` turns it into an HTTP answer.
enum ProxyError: Error {
  // The app's side.
  case malformed(HeadError)
  case malformedBody(ChunkedError)
  case originForm
  /// To a TLS listener.
  case clearToTLS
  case headTimeout
  case unknownExpectation
  case traceWithCredential
  case stalled
  // Permission.
  case passwordRequired
  case wrongPassword
  case notAllowed(client: String?, upstream: String)
  /// The entry's `methods` do not list the request's.
  case methodNotAllowed(upstream: String, allowed: [String])
  case credentialFromApp(upstream: String)
  /// The client has as many requests in flight as its `max_requests` allows.
  case tooManyRequests(client: String?, limit: Int)
  case hostNotListed(host: String)
  case connectNotAllowed(target: String)
  /// CONNECT on a connection that another CONNECT has begun.
  case connectInside
  /// Inside of TLS that was answered for one authority, a request is for another.
  case misdirected(authority: String)
  /// Inside of TLS: who began the connection is no client any more.
  case clientGone
  /// No authority may sign for the host now.
  case noSigner(host: String)
  case loop
  // The connection to the origin.
  case upstream(UpstreamError)
  /// The pool opened connections, but none was ready in time.
  case connectTimeout
  case connectionLimit
  /// Its HTTP/2 connections allow no requests now.
  case noStreams
  /// The client has used up its share of the origin's connections.
  case clientShareUsedUp
  // The origin's answer.
  case unexpectedUpgrade
  case tooManyInterims
  /// The origin reads no more of the request's body.
  case upstreamStalled
  case bodyBroken
  // Credentials.
  case credentialUnavailable(String, reason: String, retryAfter: Int)
  case credentialMissing(String, reason: String)
  /// A person must log in to this credential.
  case loginMissing(String)
  /// The credential exchanges the app's own token, and the app sent none.
  case subjectMissing(String)
  /// The token server refuses the app's own token.
  case subjectRefused(String)
  /// The token server refused too many tokens of this client. `retryAfter`: seconds.
  case tooManyRefusedSubjects(client: String?, retryAfter: Int)
  /// A request cannot be signed.
  case signing(SigningProblem)
  /// The app wants only what is stored, and there is nothing that it accepts.
  case nothingStored
  /// A reload has removed the client or the entry, or changed its trust.
  case cutOff
  case internalError

  init(_ unavailable: CredentialUnavailable, of credential: String) {
    switch unavailable {
    case .temporarily(let why, _):
      self = .credentialUnavailable(
        credential, reason: why, retryAfter: Int(clamping: unavailable.retryAfterSeconds ?? 1))
    case .needsOperator(let why): self = .credentialMissing(credential, reason: why)
    case .needsLogin: self = .loginMissing(credential)
    }
  }

  init(_ error: RoutingError) {
    switch error {
    case .malformed(let error): self = .malformed(error)
    case .hostNotListed(let host): self = .hostNotListed(host: host)
    case .notAllowed(let client, let upstream): self = .notAllowed(client: client, upstream: upstream)
    case .traceWithCredential: self = .traceWithCredential
    case .methodNotAllowed(let upstream, let allowed): self = .methodNotAllowed(upstream: upstream, allowed: allowed)
    case .connectNotAllowed(let target): self = .connectNotAllowed(target: target)
    }
  }

  /// - Parameter entry: name of the request's entry; nil: not known yet.
  init(_ error: ForwardingError, for entry: String?) {
    switch error {
    case .loop: self = .loop
    case .unknownExpectation: self = .unknownExpectation
    case .credentialFromApp: self = .credentialFromApp(upstream: entry ?? "")
    case .ambiguousPath: self = .malformed(.ambiguousPath)
    case .unexpectedUpgrade: self = .unexpectedUpgrade
    }
  }

  var mayBeStaleConnection: Bool { if case .upstream(let error) = self { error.mayBeStaleConnection } else { false } }

  /// Whether the entry's `retry` may help: the origin could not be reached, or sent nothing.
  var isWorthRepeating: Bool {
    switch self {
    case .upstream(let error): error.isWorthRepeating
    case .connectTimeout: true
    default: false
    }
  }
}
