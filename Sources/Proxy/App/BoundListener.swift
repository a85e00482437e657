import EventIO
import Settings
import Synchronization

/// A bound socket with the settings that came with it. The loops accept from it.
public final class BoundListener: Sendable {
  public let socket: ListeningSocket
  public let settings: ListenerSettings
  private let acceptors = Atomic<Int>(0)
  private let isRetired = Atomic<Bool>(false)

  public init(socket: ListeningSocket, settings: ListenerSettings) {
    self.socket = socket
    self.settings = settings
  }

  /// Ends listening here. The socket refuses new connections, and closes when the last loop has accepted what its queue held.
  /// (Client connections own the listener, too, so it is not enough to release it.)
  public func retire() {
    isRetired.store(true, ordering: .sequentiallyConsistent)
    socket.refuseNew()
  }

  func began() { acceptors.add(1, ordering: .sequentiallyConsistent) }
  func stopped() {
    let left = acceptors.subtract(1, ordering: .sequentiallyConsistent).newValue
    if left == 0, isRetired.load(ordering: .sequentiallyConsistent) { socket.close() }
  }

  /// Milliseconds that a retired listener continues to accept: a TCP handshake in progress needs a round trip.
  public var linger: Int { socket.address.isLoopbackOrUnix ? 20 : 250 }
}
