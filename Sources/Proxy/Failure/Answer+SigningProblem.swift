import Forwarding
import HTTPWire

extension SigningProblem {
  /// - Parameter upstream: how the answer names the entry.
  func answer(from upstream: String) -> OwnAnswer {
    switch self {
    case .bodyTooLarge(let limit):
      return OwnAnswer(
        status: 413, reason: "Content Too Large", error: "http_request_error",
        details: "the body is larger than limits.hashed_body (\(limit) bytes)",
        body:
          "The credential of \(upstream) signs the hash of the body ahead of it, and the body is larger than limits.hashed_body (\(limit) bytes).\n",
        closes: true)
    case .noMemoryForBody:
      return OwnAnswer(
        status: 503, reason: "Service Unavailable", error: "proxy_internal_response", details: "limits.buffers is used up",
        body:
          "The credential of \(upstream) signs the hash of the body ahead of it, and other bodies fill limits.buffers now.\n",
        retryAfter: 1, closes: true)
    case .body(.malformed(let why)):
      return OwnAnswer(
        status: 400, reason: "Bad Request", error: "http_request_error", details: "the signed body is malformed: \(why)",
        body: "The proxy cannot sign the request's body: \(why).\n", closes: true)
    case .body(.tooLarge(let why)):
      return OwnAnswer(
        status: 413, reason: "Content Too Large", error: "http_request_error", details: "\(why)",
        body: "The proxy cannot sign the request's body: \(why).\n", closes: true)
    case .unsupported(let why):
      return OwnAnswer(
        status: 501, reason: "Not Implemented", error: "http_request_error", details: "\(why)",
        body: "The proxy cannot sign this request: \(why).\n")
    case .forbidden(let why):
      return OwnAnswer(
        status: 403, reason: "Forbidden", error: "http_request_denied", details: "\(why)",
        body: "The proxy does not sign this request: \(why).\n")
    case .configuration(let credential, let why):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: "credential \(credential): \(why)",
        body: "Credential \(credential) cannot sign this request: \(why).\n")
    case .peer(let why):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "\(why)",
        body: "\(upstream) did not prove who it is: \(why).\n")
    }
  }
}
