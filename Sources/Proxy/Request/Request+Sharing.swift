import Cache
import EventIO
import HTTPWire

/// The answer of a request whose body goes into blocks, and a request that goes on without its app.
extension Request {
  /// The head of the answer is in the outbound block: from now on a fetch of its own reads the body.
  func share() -> RequestMachine.Input? {
    guard let state = cache, let draft = state.prepared.draft, let writer = state.prepared.writer,
      let answer = state.prepared.source,
      let exchange = attempt.exchange, let key = state.key, let reader = writer.reader()
    else { return failing(.internalError) }
    let fetch = state.sharing.fetch ?? openFetch() ?? beginFetch(state, key, nil)
    state.sharing.fetch = fetch
    state.prepared.writer = nil
    state.prepared.source = nil
    if isOrphan {
      app.giveBackOutbound()
    } else {
      state.reading = BodyReading(
        reader, range: nil, framing: answer.framing, keepsClient: answer.keepsClient, behind: answer.interim)
    }
    attempt.exchange = nil
    exchange.fetch = fetch
    fetch.begin(draft, Fill(exchange, answer, into: writer, on: loop), isStorable: state.prepared.isStorable)
    return answering(.shared)
  }

  /// Its app has left, or it never had one: it goes on for others, or for the store.
  var isOrphan: Bool { cache?.sharing.isOrphan ?? false }

  /// The app has left. If others wait for the answer the request goes on for them, and its connection closes when it ends.
  /// - Returns: false: the request ends now.
  func outliveApp() -> Bool {
    guard let state = cache else { return false }
    if state.sharing.isOrphan { return !app.stream.peerEnded || state.sharing.fetch?.hasOthers == true }
    guard let fetch = state.sharing.fetch, fetch.hasOthers else { return false }
    switch machine.phase {
    case .authorizing, .connecting, .preparing, .exchanging, .holding, .pausing: break
    case .routing, .collapsed, .collecting, .relaying, .opening, .tunnelling, .answering, .ended: return false
    }
    record.answer.details = "the client left"
    state.sharing.isOrphan = true
    giveUpPlace()
    fetch.leaderLeft()
    return true
  }

  /// Everybody who waited for the answer has left, too.
  func endFetching() {
    // In a step of its own it sees that by itself.
    if isOrphan, !isPerforming { take(.clientBroken) }
  }
}

/// In place of the app of a request that the proxy makes for the store: it takes nothing, and never leaves.
final class FetchConnection: AppConnection {
  private var request: Request?
  let requestTimer: RequestTimer

  /// - Parameter app: of the request whose answer is validated.
  init(for app: AppConnection) {
    requestTimer = RequestTimer(on: app.loop)
    super.init(-1, peer: app.peer, listener: app.listener, on: app.loop)
    connectedAuthority = app.connectedAuthority
  }

  /// Owns the request until it has ended.
  func begin(_ request: Request) {
    self.request = request
    requestTimer.request = request
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    request?.beginInBackground()
    request?.clientReady()
  }

  override func requestEnded(keepAlive: Bool) { end() }
  override func close(reset: Bool = false) { end() }

  private func end() {
    loop.forget(requestTimer)
    requestTimer.request = nil
    request = nil
    giveBackOutbound()
    holdings.end()
  }
}
