/// A credential whose value is in the configuration. After a refusal its source is read again, once, as an operator may have
/// replaced the secret.
public struct StaticCredentialMachine: Sendable {
  public enum Action: Sendable {
    /// Read the secret's source again, in a lane, and pass the result to `sourceRead`.
    case readSource(id: UInt64)
    /// The same as for `OAuth2Machine`.
    case publish(RenderedCredential)
    case releaseRefused(RelayReason)
  }

  public let name: String
  public private(set) var current: RenderedCredential
  private var reading: UInt64?
  private var lastID: UInt64 = 0
  private var memory = RefusalMemory()
  private var window = RefusalWindow()
  /// Reading may start a helper program, so the same limits apply as to refreshes.
  private let limit = OAuth2Policy.RefreshWindow()
  private var refusers: [RequestKey] = []

  /// - Parameter version: the last one published under this name before.
  public init(_ policy: CredentialPolicy, after version: UInt64 = 0) throws(CredentialError) {
    name = policy.name
    current = try CredentialRenderer.render(policy, version: version + 1)
  }

  public mutating func refused(
    version: UInt64, by key: RequestKey, isRetry: Bool, now: Int64
  ) -> (decision: OAuth2Machine.RefusalDecision, actions: [Action]) {
    if isRetry {
      memory.remember(key, now: now)
      window.wasInVain(for: key.client)
      return (.relay(.refusedAgain), [])
    }
    if version < current.version { return (.resend(current), []) }
    if memory.remembered(key, now: now) != nil { return (.relay(.remembered), []) }
    var actions: [Action] = []
    if reading == nil {
      guard window.admits(key.client, limit, now: now) else { return (.relay(.windowUsedUp), []) }
      lastID += 1
      reading = lastID
      actions.append(.readSource(id: lastID))
    }
    if refusers.count < OAuth2Machine.maximumRefusers { refusers.append(key) }
    return (.waitForRefresh, actions)
  }

  public mutating func accepted(_ key: RequestKey) { memory.forget(key) }

  /// - Parameter kind: the source's current content; nil if it could not be read.
  public mutating func sourceRead(id: UInt64, _ kind: CredentialPolicy.Kind?, now: Int64) -> [Action] {
    guard reading == id else { return [] }
    if let kind, let content = try? CredentialRenderer.content(of: kind), content != current.content { return replace(content) }
    // The same key, but another JWT.
    if case .jwt(let mint)? = current.material, mint.replaceRefused(at: now) { return replace(current.content) }
    for key in refusers { memory.remember(key, now: now) }
    if let first = refusers.first { window.wasInVain(for: first.client) }
    refusers.removeAll()
    reading = nil
    return [.releaseRefused(.unchanged)]
  }

  /// The configuration was read again.
  public mutating func reconfigure(_ policy: CredentialPolicy) throws(CredentialError) -> [Action] {
    let content = try CredentialRenderer.content(of: policy.kind)
    return content == current.content ? [] : replace(content)
  }

  /// The content being read is not newer than this.
  private mutating func replace(_ content: RenderedContent) -> [Action] {
    current = RenderedCredential(name: name, content: content, version: current.version + 1)
    reading = nil
    refusers.removeAll()
    return [.publish(current)]
  }
}
