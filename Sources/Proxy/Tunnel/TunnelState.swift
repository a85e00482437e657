import Streams
import Upstreams

struct TunnelTarget {
  var host: String
  var port: UInt16
}

/// A request's tunnel: being opened, then open.
final class TunnelState {
  /// Nil: an upgraded connection.
  let target: TunnelTarget?
  /// The 200 has gone to the app already.
  let isAnswered: Bool
  var dial: Dial?
  var far: ByteStream?
  var open: Tunnel?
  /// Not where both directions ended in good order.
  var endsByReset = true

  init(_ target: TunnelTarget?, isAnswered: Bool) {
    self.target = target
    self.isAnswered = isAnswered
  }

  func stopOpening() {
    dial?.cancel()
    dial = nil
  }
}
