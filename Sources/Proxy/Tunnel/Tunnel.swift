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

  private static let budget = 16

  private let app: AppConnection
  let far: ByteStream
  /// The connection that was upgraded; nil after CONNECT.
  let upstream: UpstreamConnection?
  private let pulse: Pulse
  private var up = Direction()
  private var down = Direction()
  /// Bytes sent to the far end, and to the app.
  private(set) var sentUp: Int64 = 0
  private(set) var sentDown: Int64 = 0

  private struct Direction {
    var block: Block?
    var sourceEnded = false
    var isDone = false
  }

  /// - Parameters:
  ///   - rest: bytes of the other protocol that were already read from the far end.
  ///   - pulse: `timeouts.tunnel`.
  init(_ app: AppConnection, far: ByteStream, upstream: UpstreamConnection?, rest: Block?, _ pulse: Pulse) {
    self.app = app
    self.far = far
    self.upstream = upstream
    self.pulse = pulse
    down.block = rest
    // What the app sent early goes first.
    if let block = app.inbound {
      app.inbound = nil
      if block.isEmpty { app.loop.blocks.giveBack(block) } else { up.block = block }
    }
  }

  func pump() -> Outcome {
    // Nothing more comes from the broken side, and nothing can be sent to it.
    if far.isBroken && down.isDone || app.stream.isBroken && up.isDone { return .broken }
    switch app.flush() {
    case .whole: break
    case .partly: return .open
    case .failed: return .broken
    }
    guard copy(&up, from: app.stream, to: far), copy(&down, from: far, to: app.stream) else { return .broken }
    return up.isDone && down.isDone ? .ended : .open
  }

  /// - Returns: false if one side is broken.
  private func copy(_ direction: inout Direction, from source: ByteStream, to sink: ByteStream) -> Bool {
    if direction.isDone { return true }
    for _ in 0..<Self.budget {
      if let block = direction.block, !block.isEmpty {
        switch sink.write(block.bytes) {
        case .bytes(let count):
          if sink === far { sentUp += Int64(count) } else { sentDown += Int64(count) }
          block.consume(count)
          pulse.moved()
          continue
        case .later: return true
        case .failed: return false
        }
      }
      if direction.sourceEnded {
        sink.endWriting()
        direction.isDone = true
        giveBack(&direction)
        return true
      }
      switch source.read(into: emptySpace(&direction)) {
      case .bytes(let count): direction.block?.end = count
      case .end: direction.sourceEnded = true
      case .later:
        giveBack(&direction)
        return true
      case .truncated, .failed: return false
      }
    }
    app.loop.again(app)
    return true
  }

  private func emptySpace(_ direction: inout Direction) -> UnsafeMutableRawBufferPointer {
    let block = direction.block ?? app.loop.blocks.borrow()
    direction.block = block
    block.clear()
    return block.space
  }

  private func giveBack(_ direction: inout Direction) {
    if let block = direction.block { app.loop.blocks.giveBack(block) }
    direction.block = nil
  }

  /// Closes the far end and gives the blocks back. The request closes the app's connection.
  func close(reset: Bool) {
    giveBack(&up)
    giveBack(&down)
    far.close(on: app.loop, reset: reset)
    upstream?.tunnelEnded()
  }
}
