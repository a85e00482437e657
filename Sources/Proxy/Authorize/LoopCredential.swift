import Credentials

/// One credential as one loop sees it: the current version, and who waits for the next.
final class LoopCredential {
  let policy: CredentialPolicy
  private var current: RenderedCredential?

  enum Authorization {
    case ready(RenderedCredential)
    case wait(CredentialWait)
    case failed(ProxyError)
  }

  init(_ policy: CredentialPolicy) {
    self.policy = policy
    current = try? CredentialRenderer.render(policy)
  }

  func authorize(_ request: Request) -> Authorization {
    if let current { return .ready(current) }
    return .failed(.credentialMissing(policy.name, reason: "it has no value"))
  }
}

/// A request's place in the line for a token.
final class CredentialWait {
  private(set) weak var request: Request?
  init(_ request: Request) { self.request = request }
  func cancel() { request = nil }
}
