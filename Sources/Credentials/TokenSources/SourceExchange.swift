/// The steps that get a token from a source: reading, then requests in order. Pure, apart from what `access` reads.
protocol SourceSteps: Sendable {
  /// - Parameters:
  ///   - access: files and programs.
  ///   - wall: Unix seconds.
  mutating func start(_ access: SourceAccess, wall: Int64) -> TokenExchange.Step
  mutating func answered(_ reply: SourceReply, wall: Int64) -> TokenExchange.Step
  mutating func failed(_ failure: TokenFailure) -> TokenExchange.Step
  /// Forgets tokens and what was sent. Keeps what later fetches need.
  mutating func forget()
  /// Forgets which of several sources was chosen.
  mutating func chooseAgain()
}

extension SourceSteps {
  mutating func chooseAgain() {}
}

/// The steps of one source. It outlives a fetch, as it keeps which source was chosen and how wrong the clock is.
struct SourceExchange: Sendable {
  private var steps: any SourceSteps

  init(_ source: TokenSource) {
    steps =
      switch source {
      case .aws(let source): AWSKeyFetch(source)
      case .cloudIdentity(let identity): CloudIdentityFetch(identity)
      case .githubApp(let app): GitHubFetch(app)
      }
  }

  mutating func start(_ access: SourceAccess, wall: Int64) -> TokenExchange.Step { ended(steps.start(access, wall: wall)) }
  mutating func answered(_ reply: SourceReply, wall: Int64) -> TokenExchange.Step { ended(steps.answered(reply, wall: wall)) }
  mutating func failed(_ failure: TokenFailure) -> TokenExchange.Step { ended(steps.failed(failure)) }
  mutating func forget() { steps.forget() }
  mutating func chooseAgain() { steps.chooseAgain() }

  private mutating func ended(_ step: TokenExchange.Step) -> TokenExchange.Step {
    if case .finished = step { steps.forget() }
    return step
  }
}

extension TokenExchange.Step {
  static func failed(_ failure: TokenFailure, retryAfter: Int64? = nil) -> TokenExchange.Step {
    .finished(.failed(failure, retryAfter: retryAfter))
  }
}
