import EventIO
import Settings
import Synchronization

/// A bound socket with the settings that came with it: what loops accept from.
public final class BoundListener: Sendable {
  public let socket: ListeningSocket
  public let settings: ListenerSettings
  private let acceptors = Atomic<Int>(0)
  private let isRetired = Atomic<Bool>(false)

  public init(socket: ListeningSocket, settings: ListenerSettings) {
    self.socket = socket
    self.settings = settings
  }

  /// Nobody will listen here any more: the socket turns new connections away, and is closed when the last loop has stopped
  /// accepting what its queue held. (Client connections keep the listener, so it is not enough to let go of it.)
  public func retire() {
    isRetired.store(true, ordering: .sequentiallyConsistent)
    socket.refuseNew()
  }

  func began() { acceptors.add(1, ordering: .sequentiallyConsistent) }
  func stopped() {
    let left = acceptors.subtract(1, ordering: .sequentiallyConsistent).newValue
    if left == 0, isRetired.load(ordering: .sequentiallyConsistent) { socket.close() }
  }

  /// How long a retired listener goes on accepting, in milliseconds: a handshake that was under way needs a round trip.
  public var linger: Int { socket.address.isLoopbackOrUnix ? 20 : 250 }
}
