import JSON

/// The result of a `fetch` action.
public enum EndpointAnswer: Sendable, Hashable {
  /// Any complete HTTP response. `retryAfter`: seconds; nil if it had no numeric Retry-After.
  case response(status: Int, retryAfter: Int64?, body: Secret)
  /// The request brought no response. `tooLarge`: more than `TokenHTTPRequest.maximumAnswer` bytes.
  case failed(TokenFailure)

  /// Without this text, which the sender has added to the request: errors show parts of bodies.
  public func hiding(_ secret: Secret) -> EndpointAnswer {
    guard case .response(let status, let retryAfter, let body) = self, !secret.isEmpty else { return self }
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
    return .response(status: status, retryAfter: retryAfter, body: Secret(shown))
  }

  /// For any endpoint with JSON answers.
  func read(hiding secrets: [Secret]) -> TokenResponse.Reading {
    switch self {
    case .failed(let failure): .failed(failure, retryAfter: nil)
    case .response(let status, let retryAfter, let body):
      TokenResponse.read(status: status, body: body.bytes, retryAfter: retryAfter, hiding: secrets)
    }
  }

  /// For a token endpoint.
  func token(hiding secrets: [Secret]) -> TokenAnswer {
    switch self {
    case .failed(let failure): .failed(failure)
    case .response(let status, let retryAfter, let body):
      TokenResponse.parse(status: status, body: body.bytes, retryAfter: retryAfter, hiding: secrets)
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
}
