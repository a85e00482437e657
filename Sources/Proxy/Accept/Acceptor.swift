import CSystem
import EventIO
import Settings

/// A bound socket with the settings that came with it: what loops accept from.
public final class BoundListener: Sendable {
  public let socket: ListeningSocket
  public let settings: ListenerSettings
  public init(socket: ListeningSocket, settings: ListenerSettings) {
    self.socket = socket
    self.settings = settings
  }
}

/// One listener in one loop. Level-triggered with EPOLLEXCLUSIVE: each connection wakes one loop, which hands it to the least
/// loaded one.
final class Acceptor: EventHandler {
  private static let batch = 64
  let listener: BoundListener
  /// Lives as long as its loop, which never ends.
  private unowned(unsafe) let worker: Worker
  private var token: Token?

  init(_ listener: BoundListener, _ worker: Worker) {
    self.listener = listener
    self.worker = worker
    super.init()
    resume()
  }

  func resume() {
    guard token == nil else { return }
    token = worker.loop.register(listener.socket.descriptor, self, interest: CSYS_LISTENER)
  }

  func stop() {
    worker.loop.forget(self)
    guard let token else { return }
    self.token = nil
    worker.loop.withdraw(token, descriptor: listener.socket.descriptor)
  }

  /// Stops, after taking what the queue holds: nobody whose connection the kernel had accepted is turned away.
  func drain() {
    accept(atMost: .max)
    stop()
  }

  override func ready(_ events: UInt32, on loop: EventLoop) { accept(atMost: Self.batch) }

  private func accept(atMost count: Int) {
    let group = worker.group
    for _ in 0..<count {
      if group.isFull {
        group.pause()
        // One may have ended between the look and the pause: looked at again soon.
        return pause(milliseconds: 100)
      }
      switch listener.socket.accept() {
      case .connection(let descriptor, let peer):
        let home = group.home(for: worker.loop.executor.index)
        group.opened(on: home)
        if home == worker.loop.executor.index {
          worker.adopt(descriptor, peer, listener)
        } else {
          let listener = listener
          group.executors[home].call { Worker.of($0).adopt(descriptor, peer, listener) }
        }
      case .none: return
      case .exhausted:
        worker.observer.descriptorsExhausted()
        // Freed descriptors are not announced; connections that end are.
        group.pause()
        return pause(milliseconds: 100)
      }
    }
  }

  private func pause(milliseconds: Int) {
    if let token {
      self.token = nil
      worker.loop.withdraw(token, descriptor: listener.socket.descriptor)
    }
    worker.loop.arm(self, afterMilliseconds: milliseconds)
  }

  override func expired(on loop: EventLoop) { resume() }
}
