import EventIO

/// Passes the events of the far one of two streams to the owner of both.
public final class FarEnd: EventHandler {
  private let stream: ByteStream
  private let wake: () -> Void

  /// - Parameter wake: called after each event; must not own the owner, which the loop does not release with it.
  public init(_ stream: ByteStream, wake: @escaping () -> Void) {
    self.stream = stream
    self.wake = wake
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    stream.note(events)
    wake()
  }
}
