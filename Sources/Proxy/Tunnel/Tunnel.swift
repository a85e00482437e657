import EventIO
import Streams
import Upstreams

/// Bytes in both directions with back-pressure, without inspection: CONNECT, or an upgraded connection. Each direction ends by
/// itself (half-close). The request drives it, and closes both streams in the end.
final class Tunnel {
  enum Outcome {
    case open
    /// Both directions are over.
    case ended
    /// One side is broken.
    case broken
  }

  private let app: AppConnection
  let far: ByteStream
  /// The connection that was upgraded; nil after CONNECT.
  let upstream: UpstreamConnection?
  private let pulse: Pulse
  private var up: StreamCopy
  private var down: StreamCopy
  /// Bytes sent to the far end, and to the app.
  var sentUp: Int64 { up.moved }
  var sentDown: Int64 { down.moved }

  /// - Parameters:
  ///   - rest: bytes of the other protocol that were already read from the far end.
  ///   - pulse: `timeouts.tunnel`.
  init(_ app: AppConnection, far: ByteStream, upstream: UpstreamConnection?, rest: Block?, _ pulse: Pulse) {
    self.app = app
    self.far = far
    self.upstream = upstream
    self.pulse = pulse
    down = StreamCopy(first: rest)
    // What the app sent early goes first.
    up = StreamCopy(first: app.inbound)
    app.inbound = nil
  }

  func pump() -> Outcome {
    // Nothing more comes from the broken side, and nothing can be sent to it.
    if far.isBroken && down.isDone || app.stream.isBroken && up.isDone { return .broken }
    switch app.flush() {
    case .whole: break
    case .partly: return .open
    case .failed: return .broken
    }
    guard goesOn(&up, from: app.stream, to: far), goesOn(&down, from: far, to: app.stream) else { return .broken }
    return up.isDone && down.isDone ? .ended : .open
  }

  /// - Returns: false if one side is broken.
  private func goesOn(_ copy: inout StreamCopy, from source: ByteStream, to sink: ByteStream) -> Bool {
    let before = copy.moved
    let progress = copy.run(from: source, to: sink, on: app.loop)
    if copy.moved != before { pulse.moved() }
    switch progress {
    case .waits, .ended: return true
    case .turnIsOver:
      app.loop.again(app)
      return true
    case .broken: return false
    }
  }

  /// Closes the far end and gives the blocks back. The request closes the app's connection.
  func close(reset: Bool) {
    up.release(on: app.loop)
    down.release(on: app.loop)
    far.close(on: app.loop, reset: reset)
    upstream?.tunnelEnded()
  }
}
