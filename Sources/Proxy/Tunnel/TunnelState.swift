import Streams
import Upstreams

struct TunnelTarget {
  var host: String
  var port: UInt16
}

/// A request's tunnel, while it is opened and while it is open.
final class TunnelState {
  /// Nil: an upgraded connection.
  let target: TunnelTarget?
  var dial: Dial?
  var far: ByteStream?
  /// What the far end has sent before the tunnel began.
  var rest: [UInt8] = []
  var open: Tunnel?
  /// False if both directions have ended cleanly.
  var endsByReset = true

  init(_ target: TunnelTarget?) { self.target = target }

  func stopOpening() {
    dial?.cancel()
    dial = nil
  }
}
