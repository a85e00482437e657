import EventIO
import HTTPWire

/// One exchange with an upstream: sends the request's head and body up, takes the answer down, both at once where both have
/// something to move. Each direction stops when its sink is full and goes on when that drains: nothing is buffered beyond one
/// block.
final class Attempt {
  /// Owns this attempt in turn, until that has ended.
  let request: Request
  private(set) var connection: UpstreamConnection?

  var upload = UploadProgress()

  // Downwards.
  var awaitsHead = true
  /// 1xx responses so far.
  var interims = 0
  var receivedAnything = false
  var download: Download?
  /// An answer that refused the credential.
  var held: HeldAnswer?

  // Expect: 100-continue.
  private(set) var hasAsked = false
  /// The body is kept back until the origin says 100, or too long nothing.
  private(set) var awaitsContinue = false
  private var continueTimer: ContinueTimer?

  init(_ request: Request) { self.request = request }

  var client: ClientConnection { request.client }
  var loop: EventLoop { request.loop }
  /// Its client's part of the origin's connections. The client connection remembers that of the request that it last had sent,
  /// which is this one's for as long as it waits.
  var share: OriginShare? { client.share }
  /// Bytes stand ready for the upstream, which does not take them.
  var waitsForUpstream: Bool { connection != nil && upload.isPending }
  var isCloseDelimitedToClient: Bool { download?.endsByClose ?? false }

  // MARK: Life

  /// The pool has a connection for this attempt.
  func begin(on connection: UpstreamConnection) {
    guard let head = request.head, let entry = request.entry else { return }
    // It has left while the request waited, or with the last byte that it sent.
    guard !client.stream.peerEnded else {
      connection.finished(inStep: true)
      return request.clientLeft()
    }
    guard request.isStillAuthorized() else {
      connection.finished(inStep: true)
      return request.authorizeAgain()
    }
    self.connection = connection
    request.connected()
    request.note(connection)
    if request.outbound.authenticatesConnection { connection.bind(to: request) }
    let credential = request.authorization?.line
    let size = head.count + (credential?.count ?? 0) + 32
    // A head beyond a block's size: configured so.
    let block = size <= BlockPool.small ? loop.blocks.borrow() : Block(capacity: size)
    upload.out = block
    block.append(head.bytes)
    if let credential { credential.withUnsafeBytes { block.append($0) } }
    // The body may be malformed, and telling the app to go on may show that it has left: then the block is somebody else's.
    if !request.body.isDone {
      readChunksAtHand()
      guard self.connection != nil else { return }
    }
    askBeforeBody(block)
    guard self.connection != nil else { return }
    block.append("\r\n")
    loop.arm(connection, at: loop.now + entry.timeouts.responseHead)
    joinBody(to: block)
    pumpUp()
  }

  private func askBeforeBody(_ block: Block) {
    guard request.asksBeforeBody else { return request.continueApp() }
    block.append("Expect: 100-continue\r\n")
    hasAsked = true
    awaitsContinue = true
    let timer = ContinueTimer(self)
    continueTimer = timer
    loop.arm(timer, at: loop.now + Request.patience)
  }

  func stopWaitingForContinue() {
    awaitsContinue = false
    if let continueTimer { loop.forget(continueTimer) }
    continueTimer = nil
  }

  /// It may not know the expectation: the body is sent.
  func originStayedSilent() {
    guard awaitsContinue, awaitsHead, connection != nil else { return }
    stopWaitingForContinue()
    request.pool?.limit.noteSilence(until: loop.now + Request.silenceIsRemembered)
    request.continueApp()
    if connection != nil { pumpUp() }
  }

  /// The app's side can move. No head comes from there: looking for one would be a read in vain.
  func clientReady() {
    if awaitsHead { pumpUp() } else { pump() }
  }

  /// Something can move: on the upstream's side, the app's, or both.
  func pump() {
    if held != nil { return pumpHeld() }
    if !upload.isDone { pumpUp() }
    if awaitsHead { readHead() } else { download?.pump() }
  }

  /// Gives the exchange up: its connection is out of step and is closed.
  func abort() {
    giveBackOut()
    stopWaitingForContinue()
    download = nil
    held = nil
    guard let connection else { return }
    self.connection = nil
    connection.close()
  }

  /// Both directions are over: the connection goes back to the pool where it may.
  func complete(reusable: Bool) {
    giveBackOut()
    stopWaitingForContinue()
    guard let connection else { return }
    self.connection = nil
    connection.finished(inStep: reusable && upload.isDone && !upload.isBroken)
  }

  /// Hands the connection over: it is a tunnel's from now on.
  func detach() -> UpstreamConnection? {
    giveBackOut()
    defer { connection = nil }
    return connection
  }

  /// The connection broke, ended or timed out before the answer's head was whole.
  func fail(_ error: ProxyError) {
    let wasReused = connection?.isReused ?? false
    let wroteNothing = connection?.wroteNothing ?? true
    abort()
    // RFC 9110 section 9.2.2, RFC 9112 section 9.3.1: a pooled connection can be closed by the origin at any time.
    let isStale = wasReused && !receivedAnything && (request.method.isIdempotent || wroteNothing) && error.mayBeStaleConnection
    request.attemptFailed(self, error, isStale: isStale)
  }

  /// No answer in time.
  func headTimerExpired() {
    guard awaitsHead, upload.isDone || upload.isBroken else { return }
    abort()
    request.attemptFailed(self, .responseTimeout, isStale: false)
  }
}
