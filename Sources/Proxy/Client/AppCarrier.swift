import CSystem
import EventIO
import HTTP2
import Streams
import Upstreams

/// The connection of an app that speaks HTTP/2 inside of TLS. Each request on it is a connection of its own to everything above. Its root,
/// the connection that was accepted, owns it.
final class AppCarrier {
  private static let readsATurn = 16
  /// Nanoseconds between the two GOAWAYs of a drain: a round trip, in which requests may still come.
  private static let drainPause: Int64 = 100_000_000

  /// Valid until `closed`.
  private unowned let root: ClientConnection
  private let services: LoopServices
  private let loop: EventLoop
  let session: ServerSession
  private var pipe: SessionPipe
  private var streams = StreamTable<AppStream>()
  /// Requests in progress.
  private var count = 0
  private var isPumping = false
  private var isClosed = false
  /// The app sends nothing more, and still reads.
  private var isHalfClosed = false
  /// The app takes no more bytes now.
  private var isBlocked = false
  /// Answers that are whole, and not written yet: their requests are over, and have no deadline any more.
  private var unsent = 0
  /// When it is looked whether the app takes some of each of them.
  private var unsentEnd = Int64.max
  /// When bytes were last written, and how many there were then.
  private var progressed: Int64
  private var written = 0
  /// Since when it has had no request.
  private var idleSince: Int64
  private var hasReceived = false
  private var drain = Drain.none
  private var drainEnd = Int64.max

  private enum Drain { case none, begun, ended }

  init(_ root: ClientConnection) {
    self.root = root
    services = root.services
    loop = root.loop
    let limits = services.snapshot.settings.limits
    session = ServerSession(
      limits: SessionLimits(streams: limits.clientStreams, headerSection: limits.requestHead), windows: services.buffers,
      now: root.loop.now)
    pipe = SessionPipe(session, over: root.stream, on: root.loop)
    progressed = root.loop.now
    idleSince = root.loop.now
  }

  // MARK: Bytes

  func ready() {
    guard !isPumping, !isClosed else { return }
    isPumping = true
    if !isHalfClosed { receive() } else if root.stream.isBroken { lost() }
    send()
    isPumping = false
    if isClosed { return }
    if root.stream.bytesWritten != written {
      written = root.stream.bytesWritten
      progressed = loop.now
    }
    if session.failure != nil { return root.close(reset: isBlocked) }
    if drain == .ended || isHalfClosed, count == 0, !isBlocked { return root.close() }
    arm()
  }

  private func send() {
    isBlocked = false
    while !isClosed, !isBlocked, pipe.hasWork {
      switch pipe.send() {
      case .all: takeEvents()
      case .blocked: isBlocked = true
      case .lost: lost()
      }
    }
  }

  private func receive() {
    var budget = Self.readsATurn
    let block = loop.blocks.borrow()
    defer { loop.blocks.giveBack(block) }
    while !isClosed, session.failure == nil {
      guard budget > 0 else { return loop.again(root) }
      budget -= 1
      switch pipe.receive(through: block) {
      case .bytes:
        if !hasReceived { root.noteUse() }
        hasReceived = true
        takeEvents()
      case .blocked: return
      case .ended: return halfClosed()
      case .lost: return lost()
      }
    }
  }

  /// Requests that have come whole get their answers, the others end.
  private func halfClosed() {
    isHalfClosed = true
    for stream in streams.all where !stream.request.hasEnded && stream.user != nil {
      stream.isBroken = true
      streams.touch(stream.ticket)
    }
    notify()
  }

  private func lost() {
    session.connectionLost()
    takeEvents()
    if isClosed { return }
    root.noteLeaving()
    root.close()
  }

  func wantsFlush() {
    if !isPumping, !isClosed { loop.again(root) }
  }

  private func takeEvents() {
    while let event = session.nextEvent() {
      switch event {
      case .head(let ticket, let head, _): begin(ticket, session.bytes(of: ticket, head), session.bodyLength(of: ticket))
      case .refused(let ticket, let refused): refuse(ticket, refused)
      case .data(let ticket), .room(let ticket): streams.touch(ticket)
      case .trailers(let ticket, let lines): streams.touch(ticket)?.request.take(trailers: session.bytes(of: ticket, lines))
      case .end(let ticket): streams.touch(ticket)?.request.hasEnded = true
      case .sent(let ticket):
        guard let stream = streams.touch(ticket) else { break }
        stream.isSent = true
        if stream.user == nil { release(stream) }
      case .ended(let ticket, _):
        guard let stream = streams.touch(ticket) else { break }
        stream.isBroken = true
        if stream.user == nil { release(stream) }
      case .failed(let failure): if let abuse = HTTP2Abuse(failure) { services.observer.abused(by: root.peer, abuse) }
      case .interimHead, .goAway, .settings, .pong: break
      }
    }
    notify()
  }

  private func notify() {
    while let stream = streams.nextTouched() {
      stream.user?.ready(stream.isBroken ? EPOLLRDHUP.rawValue | EPOLLHUP.rawValue : 0, on: loop)
    }
  }

  // MARK: Requests

  /// In progress.
  var requests: [Request] { streams.all.compactMap { $0.user?.request } }

  private func begin(_ ticket: StreamTicket, _ head: UnsafeRawBufferPointer, _ length: Int?) {
    _ = serve(AppStream(self, ticket, head: head, length: length))
    streams.touch(ticket)
  }

  /// What cannot be a request gets an answer that is like those over HTTP/1.1, and nothing of it goes on.
  private func refuse(_ ticket: StreamTicket, _ refused: RefusedRequest) {
    let error: ProxyError =
      switch refused.reason {
      case .malformed(let error): .malformed(error)
      case .connect: .connectInside
      }
    serve(AppStream(self, ticket)).refuse(error, isHead: refused.isHead, closes: false)
  }

  /// Gives the stream a connection of its own.
  private func serve(_ stream: AppStream) -> ClientConnection {
    keep(stream)
    let user = ClientConnection(stream, of: root)
    user.access = root.access
    stream.user = user
    return user
  }

  private func keep(_ stream: AppStream) {
    streams.insert(stream, stream.ticket)
    count += 1
  }

  /// What was given of an answer to the session.
  enum Given { case nothing, part, whole }

  /// The request on it has ended.
  func ended(_ stream: AppStream, _ given: Given) {
    if !isClosed, let access = stream.user?.access { root.access = access }
    stream.user = nil
    if stream.isSent || stream.isBroken || given == .nothing {
      release(stream)
    } else {
      awaitSending(of: stream)
      if given == .part { session.cut(stream.ticket) }
    }
    wantsFlush()
  }

  private func awaitSending(of stream: AppStream) {
    if unsent == 0 { unsentEnd = loop.now + stall }
    unsent += 1
    stream.awaited = loop.now
  }

  private func release(_ stream: AppStream) {
    guard streams.remove(stream.ticket) else { return }
    count -= 1
    if stream.awaited != nil { unsent -= 1 }
    if unsent == 0 { unsentEnd = .max }
    if count == 0 { idleSince = loop.now }
    session.release(stream.ticket, code: .internalError)
    wantsFlush()
  }

  // MARK: Life

  /// Nanoseconds for which the app may take nothing of what is ready for it.
  private var stall: Int64 { Int64(services.snapshot.settings.timeouts.stall) * 1_000_000 }
  private var stallEnd: Int64 { isBlocked ? progressed + stall : .max }

  /// Ends the answers of which the app has taken nothing for so long: what it takes besides, of others or of its PINGs, changes nothing.
  private func endUnsent() {
    var next = Int64.max
    for stream in streams.all {
      guard let awaited = stream.awaited else { continue }
      let end = max(awaited, session.lastWritten(of: stream.ticket)) + stall
      if loop.now >= end { release(stream) } else { next = min(next, end) }
    }
    unsentEnd = next
  }

  private var idleEnd: Int64 {
    let idle = Int64(services.snapshot.settings.timeouts.idle) * 1_000_000
    return count == 0 && drain == .none && idle > 0 ? idleSince + idle : .max
  }

  private func arm() {
    let deadline = min(stallEnd, unsentEnd, idleEnd, drainEnd)
    if deadline < .max { loop.arm(root, at: deadline) } else { loop.disarm(root) }
  }

  func timeUp() {
    if loop.now >= stallEnd { return root.close(reset: true) }
    if loop.now >= unsentEnd {
      endUnsent()
      if count == 0 { return root.close(reset: true) }
    }
    if loop.now >= drainEnd {
      drain = .ended
      drainEnd = .max
      session.endDrain()
    } else if loop.now >= idleEnd {
      beginDrain(within: Self.drainPause)
    }
    loop.again(root)
  }

  /// A request was refused in a way after which the connection means nothing more: the app is to open another one.
  func endSoon() { beginDrain(within: Self.drainPause) }

  /// Takes no more requests after so many milliseconds; those in progress end.
  func drain(grace: Int) { beginDrain(within: max(Int64(grace) * 1_000_000, Self.drainPause)) }

  private func beginDrain(within time: Int64) {
    guard drain == .none, !isClosed else { return }
    drain = .begun
    drainEnd = loop.now + time
    session.beginDrain()
    loop.arm(root, at: drainEnd)
    wantsFlush()
  }

  /// The root has closed: its requests end.
  func closed() {
    guard !isClosed else { return }
    isClosed = true
    if session.failure == nil { session.connectionLost() }
    takeEvents()
    pipe.giveBack()
  }
}
