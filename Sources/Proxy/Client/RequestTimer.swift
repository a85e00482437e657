import EventIO

/// The timer of a request. It belongs to whatever the request came from (a connection, later a stream) and is used by one
/// request after another, so that arming it is a store.
final class RequestTimer: EventHandler {
  /// Nil between requests: a deadline of the last one means nothing.
  var request: Request?

  override func expired(on loop: EventLoop) { request?.expired() }
}
