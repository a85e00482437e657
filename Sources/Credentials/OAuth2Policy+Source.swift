extension OAuth2Policy {
  /// For tokens that come from `source`. All durations are milliseconds.
  /// - Parameters:
  ///   - server: the URL of its server, for people; empty if there is none, or none that is known before the first fetch.
  ///   - retryStatuses: with which an API refuses the token.
  public init(
    source: TokenSource, server: String = "", refreshBeforeExpiry: Int = 300_000, retryStatuses: Set<Int> = [401],
    timeout: Int = 10_000, trust: String? = nil
  ) {
    self.init(
      endpoint: .token(url: server), grant: .source(source), clientID: nil, clientAuthentication: .none,
      refreshBeforeExpiry: refreshBeforeExpiry, retryStatuses: retryStatuses, timeout: timeout, trust: trust)
  }

  /// nil: tokens come from an OAuth 2.0 server.
  public var source: TokenSource? { if case .source(let source) = grant { source } else { nil } }
}
