import CSystem
import EventIO

/// One listener on one loop. Level-triggered with EPOLLEXCLUSIVE: each connection wakes one loop, which may hand it to the
/// least loaded one.
final class Acceptor: EventHandler {
  private static let batch = 64
  /// Connections at once that are many.
  private static let crowd = 4
  let listener: BoundListener
  /// Lives as long as its loop, which never ends.
  private unowned(unsafe) let worker: Worker
  private var token: Token?
  /// When a retired acceptor stops for good, in nanoseconds of the loop's clock; nil: it is not retired.
  private var end: Int64?

  init(_ listener: BoundListener, _ worker: Worker) {
    self.listener = listener
    self.worker = worker
    super.init()
    listener.began()
    resume()
  }

  func resume() {
    guard token == nil else { return }
    token = worker.loop.register(listener.socket.descriptor, self, interest: CSYS_LISTENER)
    if token == nil { pauseForLack() }
  }

  /// Stops at once: another acceptor takes over the same socket.
  func stop() {
    worker.loop.forget(self)
    if let token {
      self.token = nil
      worker.loop.withdraw(token, descriptor: listener.socket.descriptor)
    }
    listener.stopped()
  }

  /// Goes on for the linger time and then stops, so that the proxy serves every connection that the kernel had accepted.
  func retire() {
    let end = worker.loop.now + Int64(listener.linger) * 1_000_000
    self.end = end
    worker.loop.arm(self, at: end)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) { accept(atMost: Self.batch) }

  /// - Parameter count: nil = all that wait, even over the limit.
  private func accept(atMost count: Int?) {
    let group = worker.group
    var left = count ?? .max
    while left > 0 {
      left -= 1
      if group.isFull, count != nil {
        group.pause()
        // A connection may have ended between the check and the pause, so the acceptor checks again soon.
        return pause(milliseconds: 100)
      }
      switch listener.socket.accept() {
      case .connection(let descriptor, let peer):
        let home = group.home(for: worker.loop.executor.index)
        group.opened(on: home)
        if home == worker.loop.executor.index {
          worker.adopt(descriptor, peer, listener)
          // The worker had no room for the connection, and has paused this acceptor.
          if token == nil, count != nil { return }
        } else {
          let listener = listener
          group.executors[home].call { Worker.of($0).adopt(descriptor, peer, listener) }
        }
      case .none:
        // This call is one of those. With several loops the kernel would wake another one for what comes meanwhile.
        if let count, count - left - 1 >= Self.crowd, group.executors.count == 1 { worker.loop.yieldAfterTurn() }
        return
      case .exhausted: return pauseForLack()
      }
    }
  }

  /// Out of descriptors, or of room for their registration.
  func pauseForLack() {
    worker.observer.descriptorsExhausted()
    // The kernel does not announce what it frees. Connections that end resume the acceptors.
    worker.group.pause()
    pause(milliseconds: 100)
  }

  private func pause(milliseconds: Int) {
    if let token {
      self.token = nil
      worker.loop.withdraw(token, descriptor: listener.socket.descriptor)
    }
    let wakeup = worker.loop.now + Int64(milliseconds) * 1_000_000
    worker.loop.arm(self, at: min(wakeup, end ?? wakeup))
  }

  override func expired(on loop: EventLoop) {
    guard let end else { return resume() }
    if loop.now >= end {
      accept(atMost: nil)
      stop()
      worker.stopped(self)
    } else {
      resume()
      if token != nil { loop.arm(self, at: end) }
    }
  }
}
