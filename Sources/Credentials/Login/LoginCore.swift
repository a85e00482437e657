/// What the login machines have in common: one request at a time, collected actions, one end.
struct LoginCore {
  /// Makes the request, without its proof, for a time. Each time anew: a server takes a client assertion only once.
  typealias Build = @Sendable (_ wall: Int64) throws(TokenFailure) -> (http: TokenHTTPRequest, secrets: [Secret])

  private struct Fetch {
    let id: UInt64
    let sent: Int64
    let deadline: Int64
    /// Values that were sent, which errors hide.
    let secrets: [Secret]
    /// Of a request with a proof.
    var proved: (url: String, build: Build)?
    /// It was sent again for the server's nonce.
    var isRepeated = false
  }

  /// Of one request, in milliseconds.
  private let timeout: Int64
  private var dpop: DPoPSession?
  private var fetch: Fetch?
  private var lastID: UInt64 = 0
  private var actions: [LoginAction] = []
  private var wake: Int64?
  private(set) var end: LoginEnd?

  init(_ policy: OAuth2Policy, dpopKey: DPoPKey? = nil) {
    timeout = Int64(policy.timeout)
    dpop = dpopKey.map { DPoPSession($0) }
  }

  mutating func perform(_ action: LoginAction) { actions.append(action) }

  mutating func send(_ request: TokenHTTPRequest, hiding secrets: [Secret] = [], _ now: Int64) {
    lastID += 1
    fetch = Fetch(id: lastID, sent: now, deadline: now + timeout + OAuth2Policy.fetchGrace, secrets: secrets)
    actions.append(.fetch(id: lastID, request))
  }

  /// Sends a request that a token is bound to: with a proof, if there is a key for it.
  /// - Parameter wall: Unix seconds.
  mutating func sendProving(_ now: Int64, _ wall: Int64, _ build: @escaping Build) throws(TokenFailure) {
    let (request, secrets) = try build(wall)
    guard let dpop else { return send(request, hiding: secrets, now) }
    send(try dpop.proving(request, wall: wall), hiding: secrets, now)
    fetch?.proved = (request.url, build)
  }

  /// Ends the running fetch if this is its answer. If the server asks for its nonce, the request is sent again, once.
  /// - Returns: what it sent and when; nil: the answer is stale, or another one will come.
  mutating func received(
    _ id: UInt64, _ answer: EndpointAnswer, _ now: Int64, _ wall: Int64
  ) throws(LoginEnd) -> (sent: Int64, secrets: [Secret])? {
    guard let fetch, let ended = received(id) else { return nil }
    guard let proved = fetch.proved, dpop?.take(answer.dpopNonce, from: proved.url) == true, !fetch.isRepeated,
      answer.asksForNonce
    else { return ended }
    do throws(TokenFailure) { try sendProving(now, wall, proved.build) } catch { throw LoginEnd(error) }
    self.fetch?.isRepeated = true
    return nil
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
