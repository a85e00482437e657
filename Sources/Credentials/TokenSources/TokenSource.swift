/// Where a token comes from that no OAuth 2.0 server issues. The token machine keeps it like one of a grant.
public enum TokenSource: Sendable, Hashable {
  /// Temporary keys for `sigv4`.
  case aws(AWSKeySource)
  /// A token of the machine's own identity.
  case cloudIdentity(CloudIdentity)
  /// An installation token.
  case githubApp(GitHubApp)
}

extension TokenSource {
  /// Reading it may run a program, which may take its time.
  public var runsPrograms: Bool { if case .aws(let source) = self { source.runsPrograms } else { false } }

  /// It is chosen among several, and keeps to its choice until a reload.
  public var isChosen: Bool { if case .aws(let source) = self { source.base == .standard } else { false } }

  /// Milliseconds that a Retry-After counts at most.
  var longestRetryAfter: Int64 {
    // GitHub bans who comes earlier; its limits last for an hour and more.
    if case .githubApp = self { SourceReply.longestWait } else { OAuth2Machine.longestBackOff }
  }

  /// What makes it the same source in another configuration, as parts of a digest. Leaves out rotating secrets.
  var continuity: [[UInt8]] {
    switch self {
    case .aws(let source): [Array("aws".utf8)] + source.continuity
    case .cloudIdentity(let identity): [Array("cloud_identity".utf8)] + identity.continuity
    case .githubApp(let app): [Array("github_app".utf8)] + app.continuity
    }
  }

  /// Milliseconds until a fetch has failed, if each of its requests takes `timeout`.
  func longestFetch(timeout: Int) -> Int64 {
    switch self {
    case .aws(let source): source.longestFetch(timeout: timeout)
    case .cloudIdentity: Int64(timeout)
    // A clock that is wrong costs a second request.
    case .githubApp: 2 * Int64(timeout)
    }
  }

  /// A refusal of GitHub is final, as the app or its key is wrong. The others may change without anybody touching this proxy:
  /// a role's policy, or an identity that is still being assigned.
  var refusalsAreFinal: Bool { if case .githubApp = self { true } else { false } }
}
