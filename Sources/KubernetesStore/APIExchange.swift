import Credentials
import EventIO
import Fetch
import JSON
import Trust

/// Sends requests to the API server with the token. Confined to its loop.
final class APIClient {
  let settings: KubernetesSettings
  /// Its own: its connections end with it.
  let fetch: FetchClient
  let trust: TrustMaterial?
  let token: BearerToken

  init(_ settings: KubernetesSettings, on loop: EventLoop, under trust: TrustMaterial?, gate: (any FetchGate)?) {
    self.settings = settings
    self.trust = trust
    fetch = FetchClient(loop: loop)
    fetch.gate = gate
    token = BearerToken(settings, on: loop)
  }

  /// - Parameter then: called once unless cancelled, and never before this returns if the token is known.
  func send(
    _ request: APIRequest, timeout: Int, stream: FetchStream? = nil,
    then: @escaping (Result<APIAnswer, KubernetesFailure>) -> Void
  ) -> APIExchange {
    let exchange = APIExchange(request, timeout: timeout, stream, self, then)
    exchange.start(after: nil)
    return exchange
  }
}

/// A 200.
struct APIAnswer {
  let body: [UInt8]
  /// Unix milliseconds of the Date field; nil: there was none.
  let clock: Int64?
}

/// One request, sent again once with a newer token if the server refuses the first.
final class APIExchange {
  private let request: APIRequest
  /// Milliseconds.
  private let timeout: Int
  private let stream: FetchStream?
  private let client: APIClient
  private var then: ((Result<APIAnswer, KubernetesFailure>) -> Void)?
  private var transfer: FetchTransfer?

  fileprivate init(
    _ request: APIRequest, timeout: Int, _ stream: FetchStream?, _ client: APIClient,
    _ then: @escaping (Result<APIAnswer, KubernetesFailure>) -> Void
  ) {
    self.request = request
    self.timeout = timeout
    self.stream = stream
    self.client = client
    self.then = then
  }

  func cancel() {
    then = nil
    transfer?.cancel()
    transfer = nil
  }

  fileprivate func start(after refused: Secret?) {
    client.token.get(after: refused) { answer in
      guard self.then != nil else { return }
      switch answer {
      case .failure(let why): self.finish(.failure(.token(why)))
      case .success(let token) where token == refused: self.finish(.failure(.unauthorized))
      case .success(let token): self.start(with: token, isSecond: refused != nil)
      }
    }
  }

  private func start(with token: Secret, isSecond: Bool) {
    let message = request.fetch(token: token.bytes, timeout: timeout, stream: stream)
    transfer = client.fetch.start(message, under: client.trust) { outcome in
      self.transfer = nil
      if case .success(let answer) = outcome, answer.status == 401, !isSecond { return self.start(after: token) }
      self.finish(self.judged(outcome))
    }
  }

  private func finish(_ result: Result<APIAnswer, KubernetesFailure>) {
    let then = then
    self.then = nil
    then?(result)
  }

  private func judged(_ outcome: HTTPFetch.Outcome) -> Result<APIAnswer, KubernetesFailure> {
    switch outcome {
    case .failure(let failure): .failure(KubernetesFailure(failure, timeout: timeout))
    case .success(let answer) where answer.status == 200:
      .success(APIAnswer(body: answer.body, clock: answer.date.map { $0 * 1_000 }))
    case .success(let answer):
      .failure(
        .of(status: answer.status, retryAfter: answer.retryAfter, to: request.verb, object: client.settings.object))
    }
  }
}

extension KubernetesFailure {
  static func of(status: Int, retryAfter: Int64?, to verb: Verb, object: String) -> KubernetesFailure {
    switch status {
    case 401: .unauthorized
    case 403: .forbidden(verb, object: object)
    case 404: .absent(object: object)
    case 409: .outdated
    case 410: .expired
    case 413, 422: .invalid(status: status, object: object)
    case 429: .overloaded(retryAfter: retryAfter)
    case 500...: .broken(status: status, retryAfter: retryAfter)
    default: .unexpected(status: status)
    }
  }

  fileprivate init(_ failure: HTTPFetch.Failure, timeout: Int) {
    self =
      switch failure {
      case .timedOut, .tooLate: .timedOut(milliseconds: timeout)
      case .unreachable(let why): .unreachable(why)
      case .untrusted(let refusal): .untrusted("\(refusal.evaluator): \(refusal.detail)")
      case .addressForbidden: .unreachable("its address is forbidden")
      case .tooLarge: .tooLarge
      case .malformed: .malformed("is not HTTP")
      }
  }
}
