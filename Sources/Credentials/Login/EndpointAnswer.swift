import JSON

/// The result of a `fetch` action.
public enum EndpointAnswer: Sendable, Hashable {
  /// Any complete HTTP response. `retryAfter`: seconds; nil if it had no numeric Retry-After. `dpopNonce`: the DPoP-Nonce field;
  /// nil if it had none, or several.
  case response(status: Int, retryAfter: Int64?, body: Secret, dpopNonce: String? = nil)
  /// The request brought no response. `tooLarge`: more than `TokenHTTPRequest.maximumAnswer` bytes.
  case failed(TokenFailure)

  /// Without this text, which the sender has added to the request: errors show parts of bodies.
  public func hiding(_ secret: Secret) -> EndpointAnswer {
    guard case .response(let status, let retryAfter, let body, let nonce) = self, !secret.isEmpty else { return self }
    var left = body.bytes[...]
    var shown: [UInt8] = []
    while let byte = left.first {
      if left.starts(with: secret.bytes) {
        shown += Array("***".utf8)
        left = left.dropFirst(secret.bytes.count)
      } else {
        shown.append(byte)
        left = left.dropFirst()
      }
    }
    return .response(status: status, retryAfter: retryAfter, body: Secret(shown), dpopNonce: nonce)
  }

  /// For any endpoint with JSON answers.
  func read(hiding secrets: [Secret]) -> TokenResponse.Reading {
    switch self {
    case .failed(let failure): .failed(failure, retryAfter: nil)
    case .response(let status, let retryAfter, let body, _):
      TokenResponse.read(status: status, body: body.bytes, retryAfter: retryAfter, hiding: secrets)
    }
  }

  /// For a token endpoint.
  func token(hiding secrets: [Secret], as type: TokenScheme) -> TokenAnswer {
    switch self {
    case .failed(let failure): .failed(failure)
    case .response(let status, let retryAfter, let body, _):
      TokenResponse.parse(status: status, body: body.bytes, retryAfter: retryAfter, hiding: secrets, as: type)
    }
  }

  /// The JSON object of a successful answer.
  func object(hiding secrets: [Secret]) throws(LoginEnd) -> JSONValue {
    switch read(hiding: secrets) {
    case .object(let json): return json
    case .refused(let error): throw LoginEnd(error)
    case .failed(let failure, _): throw LoginEnd(failure)
    }
  }

  /// The server refuses a proof without its nonce (RFC 9449 section 8).
  var asksForNonce: Bool {
    if case .refused(let error) = read(hiding: []) { error.code == .useDPoPNonce } else { false }
  }

  var dpopNonce: String? { if case .response(_, _, _, let nonce) = self { nonce } else { nil } }
}
