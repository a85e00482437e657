import CSystem
import EventIO
import Forwarding
import HTTPWire
import Upstreams

extension ProxyError {
  /// The one table from what went wrong to what the app is told.
  /// - Parameter entry: name of the request's, as far as it has one.
  func answer(for entry: String?) -> OwnAnswer {
    let upstream = entry.map { "upstream \($0)" } ?? "the upstream"
    switch self {
    case .malformed(let error):
      let reasons: [Int: StaticString] = [
        414: "URI Too Long", 431: "Request Header Fields Too Large", 501: "Not Implemented", 505: "HTTP Version Not Supported",
      ]
      return OwnAnswer(
        status: error.status, reason: reasons[error.status] ?? "Bad Request", error: "http_request_error",
        details: "\(error.reason)",
        body: "The request cannot be served: \(error.reason).\n", closes: true)
    case .malformedBody(let error):
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "\(error.reason)",
        body: "The request's body cannot be read: \(error.reason).\n", closes: true)
    case .originForm:
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "origin-form request to a proxy",
        body:
          "This is a proxy, not a web server: set http_proxy=http://<this address> in the app's environment and let it ask for http://<host>/ as usual.\n",
        closes: true)
    case .headTimeout:
      return OwnAnswer(
        status: 408, reason: "Request Timeout", error: "http_request_error", details: "request head not complete in time",
        body: "The request's head was not complete in time (timeouts.request_head).\n", closes: true)
    case .unknownExpectation:
      return OwnAnswer(
        status: 417, reason: "Expectation Failed", error: "http_request_error", details: "unknown expectation",
        body: "Only Expect: 100-continue is understood.\n")
    case .traceWithCredential:
      return OwnAnswer(
        status: 405, reason: "Method Not Allowed", error: "http_request_denied",
        details: "TRACE to an upstream with a credential",
        body: "TRACE is not sent to an upstream with a credential: its echo would show the credential.\n",
        fields: "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n")
    case .stalled:
      return OwnAnswer(
        status: 408, reason: "Request Timeout", error: "http_request_error", details: "no byte of the message moved in time",
        body: "No byte of the message moved in time (timeouts.stall).\n", closes: true)
    case .passwordRequired, .wrongPassword:
      let wrong = if case .wrongPassword = self { true } else { false }
      return OwnAnswer(
        status: 407, reason: "Proxy Authentication Required", error: "http_request_denied",
        details: wrong ? "wrong proxy user name or password" : "proxy user name and password required",
        body: wrong
          ? "The proxy does not know this user name and password: see `clients` in the proxy's configuration.\n"
          : "This proxy wants a user name and password: http_proxy=http://name:password@host:port. See `clients` in its configuration.\n",
        fields: "Proxy-Authenticate: Basic realm=\"authproxy\", charset=\"UTF-8\"\r\n")
    case .notAllowed(let client, let upstream):
      let who = client.map { "client \($0)" } ?? "an anonymous client"
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "\(who) may not use \(upstream)",
        body: "The proxy does not let \(who) use \(upstream): see `allow` in its configuration.\n")
    case .credentialFromApp(let name):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "the app sent a credential of its own",
        body: "Upstream \(name) takes no credential from the app: client_authorization is `reject`.\n")
    case .tooManyRequests(let client, let limit):
      let who = client.map { "client \($0)" } ?? "this address"
      return OwnAnswer(
        status: 429, reason: "Too Many Requests", error: "http_request_denied",
        details: "\(who) has \(limit) requests in flight",
        body: "The proxy serves at most \(limit) requests of \(who) at once: see `max_requests` in its configuration.\n",
        retryAfter: 1)
    case .hostNotListed(let host):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "host \(host) is not listed",
        body: "No `upstreams` entry matches \(host). Add one to the proxy's configuration, or set `unlisted_hosts: forward`.\n")
    case .connectNotAllowed(let target):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "CONNECT to \(target) is not allowed",
        body:
          "CONNECT to \(target) is not allowed by `connect.allow`. To have the proxy add a credential, ask for http://, not https://.\n"
      )
    case .loop:
      return OwnAnswer(
        status: 508, reason: "Loop Detected", error: "proxy_loop_detected", details: "our own name is in Via",
        body: "The request has come back to this proxy. Two chained proxies need two names (`name` in the configuration).\n")
    case .upstream(let error): return error.answer(for: upstream)
    case .connectTimeout: return UpstreamError.connectTimeout.answer(for: upstream)
    case .connectionLimit:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached", details: "all connections are in use",
        body: "All connections to \(upstream) are in use (limits.upstream_connections), and none came free in time.\n",
        retryAfter: 1)
    case .clientShareUsedUp:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached",
        details: "this client's share of the connections is in use",
        body:
          "This client has all the connections to \(upstream) that one client may have (an eighth of limits.upstream_connections is left to others), and none of its requests ended in time.\n",
        retryAfter: 1)
    case .unexpectedUpgrade:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "101 without a request for it",
        body: "\(upstream) switched protocols without being asked to.\n")
    case .tooManyInterims:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "1xx responses without an end",
        body: "\(upstream) sent 1xx responses without an end.\n")
    case .upstreamStalled:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "connection_write_timeout",
        details: "the request's body was not taken in time",
        body: "\(upstream) took no more of the request's body in time (timeouts.stall).\n", closes: true)
    case .bodyBroken:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "the answer was cut",
        body: "The answer of \(upstream) was cut.\n")
    case .credentialUnavailable(let name, let reason, let retryAfter):
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_internal_response", details: "credential \(name): \(reason)",
        body: "There is no usable token for credential \(name) now: \(reason).\n", retryAfter: max(retryAfter, 1))
    case .credentialMissing(let name, let reason):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: "credential \(name): \(reason)",
        body: "Credential \(name) cannot be used until somebody acts: \(reason).\n")
    case .cutOff:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_configuration_error",
        details: "the configuration was changed under this request",
        body: "A reload has removed this client or \(upstream), or changed its trust, and `timeouts.drain` is over.\n",
        retryAfter: 1,
        closes: true)
    case .internalError:
      return OwnAnswer(
        status: 500, reason: "Internal Server Error", error: "proxy_internal_error", details: "see the proxy's log",
        body: "The proxy failed to serve this request; its log says why.\n", closes: true)
    }
  }
}
