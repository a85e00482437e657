import CCurl
import CCurlShims
import CSystem
import EventIO

/// One multi handle: the transfers and connections under one trust policy. Its sockets are level-triggered; its timer is this
/// handler's.
final class FetchChannel: EventHandler {
  /// Idle connections kept for the next transfer.
  private static let connections = 4

  private unowned let loop: EventLoop
  private let multi: OpaqueMulti?
  /// Why libcurl cannot be used; nil: it can.
  private let failure: String?
  private var transfers: [ObjectIdentifier: FetchTransfer] = [:]
  private var sockets: [Int32: FetchSocket] = [:]
  private var failed: [FetchTransfer] = []
  /// Streams of which something has arrived in this call of libcurl.
  private var news: [FetchTransfer] = []

  typealias OpaqueMulti = UnsafeMutableRawPointer

  init(_ loop: EventLoop) {
    self.loop = loop
    failure = Library.load()
    multi = failure == nil ? ccurl_multi_init() : nil
    super.init()
    guard let multi else { return }
    // Both callbacks run inside calls that this object makes, so it is alive.
    let object = Unmanaged.passUnretained(self).toOpaque()
    _ = ccurl_multi_set_socket(
      multi,
      { _, descriptor, what, object, _ in
        guard let object else { return 0 }
        Unmanaged<FetchChannel>.fromOpaque(object).takeUnretainedValue().watch(descriptor, what)
        return 0
      }, object)
    _ = ccurl_multi_set_timer(
      multi,
      { _, delay, object in
        guard let object else { return 0 }
        Unmanaged<FetchChannel>.fromOpaque(object).takeUnretainedValue().wake(after: delay)
        return 0
      }, object)
    _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.connections)
    _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
  }

  deinit { if let multi { ccurl_multi_cleanup(multi) } }

  /// false: another one may have more luck.
  var isUsable: Bool { multi != nil }
  var isIdle: Bool { transfers.isEmpty && sockets.isEmpty }

  func start(_ transfer: FetchTransfer) {
    transfer.channel = self
    guard let multi, let easy = transfer.prepare(), ccurl_multi_add(multi, easy) == CURLM_OK else {
      return refuse(transfer)
    }
    transfers[ObjectIdentifier(transfer)] = transfer
    transfer.deadline = FetchDeadline(of: transfer, timeout: transfer.timeout, on: loop)
  }

  /// Ends it without a request.
  func refuse(_ transfer: FetchTransfer) {
    transfer.channel = self
    failed.append(transfer)
    loop.again(self)
  }

  func cancel(_ transfer: FetchTransfer) {
    failed.removeAll { $0 === transfer }
    guard forget(transfer), let multi, let easy = transfer.easy else { return }
    ccurl_multi_remove(multi, easy)
  }

  /// - Returns: whether it was running.
  private func forget(_ transfer: FetchTransfer) -> Bool {
    if let deadline = transfer.deadline { loop.forget(deadline) }
    transfer.deadline = nil
    return transfers.removeValue(forKey: ObjectIdentifier(transfer)) != nil
  }

  // MARK: libcurl's callbacks

  func hasNews(_ transfer: FetchTransfer) { if news.last !== transfer { news.append(transfer) } }

  private func watch(_ descriptor: Int32, _ what: Int32) {
    guard what != CURL_POLL_REMOVE else {
      sockets.removeValue(forKey: descriptor)?.withdraw(on: loop)
      return
    }
    var interest: UInt32 = 0
    if what & CURL_POLL_IN != 0 { interest |= EPOLLIN.rawValue }
    if what & CURL_POLL_OUT != 0 { interest |= EPOLLOUT.rawValue }
    if let socket = sockets[descriptor] {
      socket.change(interest, on: loop)
    } else {
      sockets[descriptor] = FetchSocket(descriptor, self, interest, on: loop)
    }
  }

  /// - Parameter delay: milliseconds; below 0 = not at all.
  private func wake(after delay: Int) {
    if delay < 0 { loop.disarm(self) } else if delay == 0 { loop.again(self) } else { loop.arm(self, afterMilliseconds: delay) }
  }

  // MARK: The loop's callbacks

  override func expired(on loop: EventLoop) { act(-1, 0) }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    let lost = failed
    failed = []
    for transfer in lost { transfer.finish(.failure(.unreachable(failure ?? "the request could not be set up"))) }
    act(-1, 0)
  }

  func socketReady(_ descriptor: Int32, _ events: UInt32) {
    var flags: Int32 = 0
    if events & EPOLLIN.rawValue != 0 { flags |= CURL_CSELECT_IN }
    if events & EPOLLOUT.rawValue != 0 { flags |= CURL_CSELECT_OUT }
    if events & (EPOLLHUP.rawValue | EPOLLERR.rawValue) != 0 { flags |= CURL_CSELECT_ERR }
    act(descriptor, flags)
  }

  private func act(_ descriptor: Int32, _ flags: Int32) {
    guard let multi else { return }
    // -1 is CURL_SOCKET_TIMEOUT.
    ccurl_multi_act(multi, descriptor, flags)
    let told = news
    news = []
    for transfer in told { transfer.deliver() }
    var result = CURLE_OK
    while let easy = ccurl_multi_ended(multi, &result) {
      guard let object = ccurl_private(easy) else { continue }
      // Still in `transfers`, which keeps it alive.
      let transfer = Unmanaged<FetchTransfer>.fromOpaque(object).takeUnretainedValue()
      ccurl_multi_remove(multi, easy)
      _ = forget(transfer)
      transfer.ended(result)
    }
  }
}

/// A socket of libcurl, which opens and closes it.
private final class FetchSocket: EventHandler {
  /// nil while the kernel has no room for the registration.
  private var token: Token?
  private unowned let channel: FetchChannel
  private let descriptor: Int32
  private var interest: UInt32

  init(_ descriptor: Int32, _ channel: FetchChannel, _ interest: UInt32, on loop: EventLoop) {
    self.descriptor = descriptor
    self.channel = channel
    self.interest = interest
    super.init()
    expired(on: loop)
  }

  /// Tries again until there is room. The transfer's time limits go on meanwhile.
  override func expired(on loop: EventLoop) {
    token = loop.register(descriptor, self, interest: interest)
    if token == nil { loop.arm(self, afterMilliseconds: 100) }
  }

  func change(_ interest: UInt32, on loop: EventLoop) {
    self.interest = interest
    if let token { loop.change(token, descriptor: descriptor, interest: interest) }
  }

  func withdraw(on loop: EventLoop) {
    loop.forget(self)
    if let token { loop.withdraw(token, descriptor: descriptor) }
    token = nil
  }

  override func ready(_ events: UInt32, on loop: EventLoop) { channel.socketReady(descriptor, events) }
}
