import Forwarding
import Upstreams

extension ParentFailure {
  /// - Parameter upstream: the upstream, as messages name it.
  func answer(for upstream: String) -> OwnAnswer {
    var answer = answer(to: upstream)
    answer.hop = OwnAnswer.Hop(name: parent, status: status)
    return answer
  }

  private func answer(to upstream: String) -> OwnAnswer {
    let said = status.map { "answered \($0)" } ?? reply.map { "replied \($0)" } ?? "refused"
    switch reason {
    case .unreached(let error):
      return error.answer(for: "the parent proxy \(parent)")
    case .origin(let error):
      return error.answer(for: upstream)
    case .badAnswer(let what):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "parent \(parent): \(what)",
        body: "The parent proxy \(parent) failed: \(what). Check its `url` in `parents`: scheme, host and port.\n")
    case .loginUnanswered:
      let what = ParentFailure.unansweredText
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_protocol_error", details: "parent \(parent): \(what)",
        body: "The parent proxy \(parent) failed: \(what).\n")
    case .loginRefused(let asked, let isFinal): return refusedLogin(asked, isFinal)
    case .loginMissing(let why):
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error",
        details: "parent \(parent), credential \(credential ?? "none"): \(why)",
        body: "The credential \(credential ?? "") for the parent proxy \(parent) cannot be used: \(why).\n")
    case .traceWithLogin:
      return OwnAnswer(
        status: 405, reason: "Method Not Allowed", error: "http_request_denied",
        details: "TRACE through the parent \(parent) with a credential",
        body:
          "The proxy does not send TRACE through the parent proxy \(parent), which has a credential: the response would contain it.\n",
        fields: "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n")
    case .unaskable(let what):
      let (details, advice) = Self.texts(what)
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error", details: "parent \(parent): \(details)",
        body: "The parent proxy \(parent) cannot be asked by SOCKS: \(details). \(advice)\n")
    case .refused:
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "http_request_denied", details: "the parent \(parent) \(said)",
        body: "The parent proxy \(parent) does not let requests to \(upstream) through: it \(said). Ask those who run it.\n")
    case .loop:
      return OwnAnswer(
        status: 508, reason: "Loop Detected", error: "proxy_loop_detected", details: "behind the parent \(parent)",
        body: "The way through the parent proxy \(parent) leads back to this proxy. Check `parents` here and there.\n")
    case .unreachable(let how): return unreached(upstream, how, said)
    }
  }

  private func refusedLogin(_ asked: String, _ isFinal: Bool) -> OwnAnswer {
    let schemes = asked.isEmpty ? "" : " It asks for: \(asked)."
    let details = asked.isEmpty ? "" : ", asked for \(asked)"
    guard let credential else {
      return OwnAnswer(
        status: 502, reason: "Bad Gateway", error: "proxy_configuration_error",
        details: "the parent \(parent) wants a credential\(details)",
        body: "The parent proxy \(parent) wants a credential, and has none in `parents`.\(schemes)\n")
    }
    let pause = isFinal ? "does not send it again until it changes" : "does not send it there for a while"
    return OwnAnswer(
      status: 502, reason: "Bad Gateway", error: "proxy_configuration_error",
      details: "the parent \(parent) refuses the credential \(credential)\(details)",
      body: "The parent proxy \(parent) refuses the credential \(credential).\(schemes) The proxy \(pause).\n")
  }

  private func unreached(_ upstream: String, _ how: Unreachable, _ said: String) -> OwnAnswer {
    let body = "The parent proxy \(parent) could not reach \(upstream): it \(said).\n"
    let details = "the parent \(parent) \(said)"
    switch how {
    case .unavailable:
      return OwnAnswer(status: 502, reason: "Bad Gateway", error: "destination_unavailable", details: details, body: body)
    case .unroutable:
      return OwnAnswer(status: 502, reason: "Bad Gateway", error: "destination_ip_unroutable", details: details, body: body)
    case .connectionRefused:
      return OwnAnswer(status: 502, reason: "Bad Gateway", error: "connection_refused", details: details, body: body)
    case .timeout:
      return OwnAnswer(status: 504, reason: "Gateway Timeout", error: "connection_timeout", details: details, body: body)
    }
  }

  private static func texts(_ what: Unaskable) -> (String, String) {
    switch what {
    case .name: ("the target's name is longer than 255 bytes", "Use an http parent for it.")
    case .address: ("the target's address has no form in SOCKS", "Use an http parent for it.")
    case .login: ("user or password has not 1 to 255 bytes", "Change the credential.")
    }
  }
}
