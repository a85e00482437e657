/// What the login machines have in common: one request at a time, collected actions, one end.
struct LoginCore {
  private struct Fetch {
    let id: UInt64
    let sent: Int64
    let deadline: Int64
    /// Values that were sent, which errors hide.
    let secrets: [Secret]
  }

  /// Of one request, in milliseconds.
  private let timeout: Int64
  private var fetch: Fetch?
  private var lastID: UInt64 = 0
  private var actions: [LoginAction] = []
  private var wake: Int64?
  private(set) var end: LoginEnd?

  init(_ policy: OAuth2Policy) { timeout = Int64(policy.timeout) }

  mutating func perform(_ action: LoginAction) { actions.append(action) }

  mutating func send(_ request: TokenHTTPRequest, hiding secrets: [Secret] = [], _ now: Int64) {
    lastID += 1
    fetch = Fetch(id: lastID, sent: now, deadline: now + timeout + OAuth2Policy.fetchGrace, secrets: secrets)
    actions.append(.fetch(id: lastID, request))
  }

  /// Ends the running fetch if this is its answer.
  /// - Returns: what it sent and when; nil: the answer is stale.
  mutating func received(_ id: UInt64) -> (sent: Int64, secrets: [Secret])? {
    guard let fetch, fetch.id == id, end == nil else { return nil }
    self.fetch = nil
    return (fetch.sent, fetch.secrets)
  }

  /// The id of a fetch that never returned, which is cancelled.
  mutating func lostFetch(_ now: Int64) -> UInt64? {
    guard let fetch, now >= fetch.deadline, end == nil else { return nil }
    actions.append(.cancelFetch(id: fetch.id))
    return fetch.id
  }

  var fetchDeadline: Int64? { fetch?.deadline }

  mutating func finish(_ end: LoginEnd) {
    guard self.end == nil else { return }
    if let fetch { actions.append(.cancelFetch(id: fetch.id)) }
    fetch = nil
    self.end = end
    actions.append(.finish(end))
  }

  /// The collected actions, after a change of the wake-up time. `finish` is the last one.
  mutating func flush(wakeAt next: Int64?) -> [LoginAction] {
    let next = end == nil ? next : nil
    if next != wake {
      wake = next
      actions.insert(.wakeAt(next), at: 0)
    }
    defer { actions = [] }
    return actions
  }
}
