import CSystem
import EventIO
import Forwarding
import Upstreams

extension UpstreamError {
  /// - Parameter upstream: the upstream, as messages name it.
  func answer(for upstream: String) -> OwnAnswer {
    switch self {
    case .nameNotFound(let host):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "dns_error", details: "\(host) was not found",
        body: "The name \(host) of \(upstream) does not exist. Check `origin`, or the resolver.\n")
    case .resolverFailed(let host, let text):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "dns_error", details: "\(host): \(text)",
        body: "The name \(host) of \(upstream) could not be resolved: \(text).\n")
    case .resolverTimeout(let host):
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "dns_timeout", details: host,
        body: "The name \(host) of \(upstream) was not resolved in time (timeouts.resolve).\n")
    case .addressForbidden(let host):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "destination_ip_prohibited",
        details: "\(host) resolves to a forbidden address",
        body:
          "\(host) resolves only to addresses in `forbidden_addresses`. To allow it, set `origin` in its upstream entry.\n"
      )
    case .connectFailed(let error): return Self.connectAnswer(error, upstream)
    case .connectTimeout:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "connection_timeout", details: "no connection in time",
        body: "The proxy could not connect to \(upstream) in time (timeouts.connect).\n")
    case .familyExcluded(let host):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "destination_ip_unroutable",
        details: "\(host) has no address of a family that may be used",
        body: "\(host) has only addresses of a family that `bind` or `address_family` excludes.\n")
    case .badSource(let address, let error):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error",
        details: "bind \(address): \(Socket.text(ofError: error))",
        body: "The proxy cannot connect from \(address): \(Socket.text(ofError: error)). Check `bind`.\n")
    case .parent(let failure): return failure.answer(for: upstream)
    case .outOfDescriptors:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_internal_error", details: "out of file descriptors",
        body: "The proxy has no file descriptors left. Raise its limit (LimitNOFILE, ulimit -n).\n", retryAfter: 1)
    case .tlsFailed(let text):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "tls_protocol_error", details: text,
        body: "TLS with \(upstream) failed: \(text).\n")
    case .untrusted(let evaluator, let reason, let detail):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "tls_certificate_error", details: "\(evaluator): \(reason)",
        body: "The proxy does not trust the server behind \(upstream): \(detail) (\(evaluator): \(reason)).\n")
    case .connectionLost(let error):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error",
        details: error == 0 ? "the upstream closed the connection without a response" : Socket.text(ofError: error),
        body: "The connection to \(upstream) ended before a response arrived.\n")
    case .badResponse(let error):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "\(error.reason)",
        body: "The response of \(upstream) is not valid HTTP: \(error.reason).\n")
    case .responseHeadTooLarge:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_response_header_section_size", details: "the head is too large",
        body: "The head of the response of \(upstream) is too large (limits.response_head).\n")
    case .spokeFirst:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "the upstream sent data before any request",
        body: "\(upstream) sent data on a new connection before the proxy sent a request. Check that it speaks HTTP.\n")
    case .http2(let failure): return Self.answer(to: failure, upstream)
    case .responseTimeout:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "connection_read_timeout", details: "no response in time",
        body: "\(upstream) did not respond in time (timeouts.response_head).\n")
    }
  }

  private static func answer(to failure: HTTP2Failure, _ upstream: String) -> OwnAnswer {
    func badGateway(_ error: StaticString, _ body: String) -> OwnAnswer {
      OwnAnswer(status: 502, reason: "Bad Gateway", error: error, details: failure.text, body: body)
    }
    switch failure {
    case .notSpoken:
      return badGateway(
        "tls_protocol_error",
        "\(upstream) does not speak HTTP/2, and its entry asks for nothing else. Set `http_version: auto` or `1.1`.\n")
    case .weakCipher:
      return badGateway(
        "tls_protocol_error", "\(upstream) speaks HTTP/2 over a cipher that it must not use (RFC 9113 appendix A).\n")
    case .headTooLarge: return UpstreamError.responseHeadTooLarge.answer(for: upstream)
    case .malformed, .flood:
      return badGateway("http_protocol_error", "The response of \(upstream) is not valid HTTP/2: \(failure.text).\n")
    case .reset, .goneAway, .dead, .wantsHTTP1:
      return badGateway(
        "http_protocol_error", "The exchange with \(upstream) ended before a response arrived: \(failure.text).\n")
    case .notProcessed:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "connection_limit_reached", details: failure.text,
        body: "\(upstream) did not process the request: \(failure.text).\n", retryAfter: 1)
    }
  }

  private static func connectAnswer(_ error: Int32, _ upstream: String) -> OwnAnswer {
    let text = Socket.text(ofError: error)
    switch error {
    case ECONNREFUSED:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "connection_refused", details: text,
        body: "\(upstream) refuses connections: nothing listens there.\n")
    case ENOENT, ENOTDIR:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "connection_refused", details: text,
        body: "The socket of \(upstream) does not exist: its server does not run, or `origin` names another path.\n")
    case ETIMEDOUT:
      return OwnAnswer(
        status: 504, reason: "Gateway Timeout", error: "connection_timeout", details: text,
        body: "The proxy could not connect to \(upstream) in time.\n")
    default:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "destination_ip_unroutable", details: text,
        body: "\(upstream) cannot be reached: \(text).\n")
    }
  }
}
