import CSystem
import EventIO
import Forwarding
import HTTPWire
import Upstreams

extension ProxyError {
  /// The answer for an error: the only table from what went wrong to what the app reads.
  /// - Parameter entry: name of the request's entry; nil: not known yet.
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
        body: "The proxy cannot serve this request: \(error.reason).\n", closes: true)
    case .malformedBody(let error):
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "\(error.reason)",
        body: "The proxy cannot read the request's body: \(error.reason).\n", closes: true)
    case .originForm:
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "origin-form request to a proxy",
        body:
          "This is a proxy, not a web server: set http_proxy=http://<this address> in the app's environment, and let the app request http://<host>/ as usual.\n",
        closes: true)
    case .clearToTLS:
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "clear HTTP to a TLS listener",
        body: "This listener speaks TLS: set http_proxy=https://<this address>, not http://.\n", closes: true)
    case .headTimeout:
      return OwnAnswer(
        status: 408, reason: "Request Timeout", error: "http_request_error", details: "request head not complete in time",
        body: "The proxy did not get the whole head of the request in time (timeouts.request_head).\n", closes: true)
    case .unknownExpectation:
      return OwnAnswer(
        status: 417, reason: "Expectation Failed", error: "http_request_error", details: "unknown expectation",
        body: "The proxy supports only Expect: 100-continue.\n")
    case .traceWithCredential:
      return OwnAnswer(
        status: 405, reason: "Method Not Allowed", error: "http_request_denied",
        details: "TRACE to an upstream with a credential",
        body: "The proxy does not send TRACE to an upstream with a credential: the response would contain the credential.\n",
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
          : "This proxy requires a user name and password: http_proxy=http://name:password@host:port. See `clients` in its configuration.\n",
        fields: "Proxy-Authenticate: Basic realm=\"authproxy\", charset=\"UTF-8\"\r\n")
    case .notAllowed(let client, let upstream):
      let who = client.map { "client \($0)" } ?? "an anonymous client"
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "\(who) may not use \(upstream)",
        body: "The proxy does not let \(who) use \(upstream): see `allow` in its configuration.\n")
    case .methodNotAllowed(let upstream, let allowed):
      let methods = allowed.joined(separator: ", ")
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "\(upstream) serves \(methods) only",
        body: "Upstream \(upstream) serves \(methods) only: see `methods` in the proxy's configuration.\n")
    case .credentialFromApp(let name):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "the app sent a credential of its own",
        body: "Upstream \(name) accepts no credential from the app: client_authorization is `reject`.\n")
    case .tooManyRequests(let client, let limit):
      let who = client.map { "client \($0)" } ?? "this address"
      return OwnAnswer(
        status: 429, reason: "Too Many Requests", error: "http_request_denied",
        details: "\(who) has \(limit) requests in flight",
        body: "The proxy serves at most \(limit) requests of \(who) at a time: see `max_requests` in its configuration.\n",
        retryAfter: 1)
    case .hostNotListed(let host):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "host \(host) is not listed",
        body: "No `upstreams` entry matches \(host). Add one to the proxy's configuration, or set `unlisted_hosts: forward`.\n")
    case .connectNotAllowed(let target):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "CONNECT to \(target) is not allowed",
        body:
          "CONNECT to \(target) is not allowed by `connect.allow`. To let the proxy add a credential, request http://, not https://.\n"
      )
    case .connectInside:
      return OwnAnswer(
        status: 405, reason: "Method Not Allowed", error: "http_request_denied", details: "CONNECT inside of a CONNECT",
        body: "This connection is for the host of its first CONNECT. Another CONNECT needs a connection of its own.\n",
        fields: "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n")
    case .misdirected(let authority):
      return OwnAnswer(
        status: 421, reason: "Misdirected Request", error: "http_request_denied",
        details: "the connection is for \(authority)",
        body: "This connection is for https://\(authority): a request for another scheme, host or port belongs elsewhere.\n")
    case .clientGone:
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "the connection's client is unknown now",
        body: "The client that began this connection is unknown now: see `clients` in the proxy's configuration.\n")
    case .noSigner(let host):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: "no CA can sign for \(host) now",
        body: "No CA of `intercept.ca` that has not expired may sign for \(host): see `authproxy ca show`.\n")
    case .loop:
      return OwnAnswer(
        status: 508, reason: "Loop Detected", error: "proxy_loop_detected", details: "the proxy's own name is in Via",
        body: "The request came back to this proxy. Two chained proxies need different names (`name` in the configuration).\n")
    case .upstream(let error): return error.answer(for: upstream)
    case .connectTimeout: return UpstreamError.connectTimeout.answer(for: upstream)
    case .connectionLimit:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached", details: "all connections are in use",
        body: "All connections to \(upstream) are in use (limits.upstream_connections), and none became free in time.\n",
        retryAfter: 1)
    case .noStreams:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached",
        details: "the origin takes no requests now",
        body: "\(upstream) takes no requests now (SETTINGS_MAX_CONCURRENT_STREAMS is 0), and did not change that in time.\n",
        retryAfter: 1)
    case .clientShareUsedUp:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached",
        details: "this client's share of the connections is in use",
        body:
          "This client uses all connections to \(upstream) that one client may have (an eighth of limits.upstream_connections is reserved for others), and none became free in time.\n",
        retryAfter: 1)
    case .unexpectedUpgrade:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "101 without a request for it",
        body: "\(upstream) switched protocols, although the request did not ask for it.\n")
    case .tooManyInterims:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "too many 1xx responses",
        body: "\(upstream) sent too many 1xx responses.\n")
    case .upstreamStalled:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "connection_write_timeout",
        details: "the upstream did not read the request's body in time",
        body: "\(upstream) stopped reading the request's body (timeouts.stall).\n", closes: true)
    case .bodyBroken:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "the response was cut off",
        body: "The response of \(upstream) was cut off.\n")
    case .credentialUnavailable(let name, let reason, let retryAfter):
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_internal_response", details: "credential \(name): \(reason)",
        body: "Credential \(name) has no usable token now: \(reason).\n", retryAfter: max(retryAfter, 1))
    case .credentialMissing(let name, let reason):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: "credential \(name): \(reason)",
        body: "Credential \(name) cannot be used until an operator acts: \(reason).\n")
    case .loginMissing(let name):
      let details = "credential \"\(name)\" needs a login: run \"authproxy login \(name)\""
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: details,
        body: "C\(details.dropFirst()).\n")
    case .subjectMissing(let name), .subjectRefused(let name):
      let isMissing = if case .subjectMissing = self { true } else { false }
      // The only 401 of the proxy's own: an app's OAuth client gets another token upon it (RFC 6750 section 3.1).
      return OwnAnswer(
        status: 401, reason: "Unauthorized", error: "http_request_denied",
        details: isMissing ? "the app sent no usable Bearer token" : "the token server refused the app's token",
        body: isMissing
          ? "Credential \(name) acts on behalf of the app's user: send the user's token as Authorization: Bearer.\n"
          : "Credential \(name) acts on behalf of the app's user, and the token server refused the token that the app sent.\n",
        fields: "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n")
    case .tooManyRefusedSubjects(let client, let retryAfter):
      let who = client.map { "client \($0)" } ?? "this address"
      return OwnAnswer(
        status: 429, reason: "Too Many Requests", error: "http_request_denied",
        details: "the token server refused too many tokens of \(who)",
        body: "The token server refused too many tokens of \(who) within a minute: the proxy tries no unknown ones for now.\n",
        retryAfter: max(retryAfter, 1))
    case .signing(let problem): return problem.answer(from: upstream)
    case .nothingStored:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "proxy_internal_response", details: "nothing stored serves the request",
        body: "The request is only-if-cached, and the proxy has stored no answer that it accepts.\n")
    case .cutOff:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_configuration_error",
        details: "a reload changed the configuration of this request",
        body: "A reload has removed this client or \(upstream), or changed its trust policy, and `timeouts.drain` is over.\n",
        retryAfter: 1,
        closes: true)
    case .internalError:
      return OwnAnswer(
        status: 500, reason: "Internal Server Error", error: "proxy_internal_error", details: "see the proxy's log",
        body: "An internal error prevented the proxy from serving this request. Its log has the reason.\n", closes: true)
    }
  }
}
