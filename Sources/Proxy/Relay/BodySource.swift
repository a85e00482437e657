import EventIO
import Forwarding
import HTTPWire

/// Takes a body from one side's bytes, and decodes its framing in place.
struct BodySource {
  enum Failure: Error {
    case chunked(ChunkedError)
    /// The sender closed before the body was complete.
    case cut
  }

  /// Only chunked bodies have a decoder. Copies share it, so the code that passes a body on must not use it again.
  private final class Chunks {
    var decoder = ChunkedDecoder()
  }

  private enum Framing {
    case length(Int64)
    case chunked(Chunks)
    case untilClose
  }
  private var framing: Framing
  private(set) var isDone: Bool
  /// Payload bytes so far.
  private(set) var count: Int64 = 0

  init(_ framing: BodyFraming) {
    switch framing {
    case .none:
      self.framing = .length(0)
      isDone = true
    case .length(let length):
      self.framing = .length(Int64(length))
      isDone = length == 0
    case .chunked:
      self.framing = .chunked(Chunks())
      isDone = false
    case .untilClose:
      self.framing = .untilClose
      isDone = false
    }
  }

  var isChunked: Bool { if case .chunked = framing { true } else { false } }
  var isUntilClose: Bool { if case .untilClose = framing { true } else { false } }

  /// Takes the body's part of the block's filled range, and moves `block.start` behind it.
  /// - Returns: where in the block the payload now is. It is at least 5 bytes shorter than what a whole chunk took there.
  mutating func take(from block: Block) throws(Failure) -> Range<Int> {
    let start = block.start
    switch framing {
    case .length(let remaining):
      let taken = Int(min(Int64(block.count), remaining))
      framing = .length(remaining - Int64(taken))
      isDone = remaining == Int64(taken)
      block.start += taken
      count += Int64(taken)
      return start..<start + taken
    case .untilClose:
      block.start = block.end
      count += Int64(block.end - start)
      return start..<block.end
    case .chunked(let chunks):
      let output: ChunkedDecoder.Output
      do { output = try chunks.decoder.decode(block.mutableBytes) } catch { throw .chunked(error) }
      block.start += output.consumed
      count += Int64(output.payload.count)
      isDone = output.state == .done
      return start + output.payload.start..<start + output.payload.end
    }
  }

  /// Payload that needs no decoding was passed on without a block: at most `expected`, and never of a chunked body.
  mutating func pass(_ passed: Int) {
    if case .length(let remaining) = framing {
      framing = .length(remaining - Int64(passed))
      isDone = remaining == Int64(passed)
    }
    count += Int64(passed)
  }

  /// The sender has closed its stream cleanly.
  mutating func end() throws(Failure) {
    if isDone { return }
    guard isUntilClose else { throw .cut }
    isDone = true
  }

  /// Bytes that are certain to come before the body is complete: the proxy reads no further ahead. `Int.max` if unknown.
  var expected: Int {
    if case .length(let remaining) = framing { Int(clamping: remaining) } else { Int.max }
  }

  var hasTrailers: Bool { if case .chunked(let chunks) = framing { !chunks.decoder.trailers.isEmpty } else { false } }

  /// Drops trailers of these names, in any case and with `_` for `-`, and those that the rules would not let pass in a head: servers
  /// merge trailers into heads.
  func drop(_ trailers: DroppedTrailers) {
    guard case .chunked(let chunks) = framing else { return }
    for name in trailers.names { chunks.decoder.dropTrailers(named: name) }
    if let rules = trailers.rules { chunks.decoder.markTrailers { rules.mark(&$0, in: $1) } }
  }

  /// Drops the trailers of an answer that the rules do not let pass.
  /// - Parameter isElsewhere: see `ForwardingRules.markTrailers`.
  func dropTrailers(ofAnswerBy rules: ForwardingRules, isElsewhere: Bool) {
    guard case .chunked(let chunks) = framing else { return }
    chunks.decoder.markTrailers { rules.markTrailers(&$0, in: $1, isElsewhere: isElsewhere) }
  }

  /// The trailers behind a body with a length, as far as the rules of its entry let them pass.
  /// - Parameter lines: each with CRLF, and a blank one.
  /// - Returns: lines with CRLF.
  static func trailers(_ lines: [UInt8], ofAnswerBy rules: ForwardingRules?, isElsewhere: Bool) -> [UInt8] {
    trailers(lines) { source in
      if let rules { source.dropTrailers(ofAnswerBy: rules, isElsewhere: isElsewhere) }
    }
  }

  /// The same of a request.
  static func trailers(_ lines: [UInt8], dropping dropped: DroppedTrailers) -> [UInt8] {
    trailers(lines) { $0.drop(dropped) }
  }

  /// - Parameter drop: drops those that may not pass.
  private static func trailers(_ lines: [UInt8], _ drop: (BodySource) -> Void) -> [UInt8] {
    var source = BodySource(.chunked)
    let block = Block(capacity: lines.count + 3)
    block.append("0\r\n")
    lines.withUnsafeBytes { block.append($0) }
    guard (try? source.take(from: block)) != nil, source.isDone else { return [] }
    drop(source)
    let end = source.lastChunk()
    // Its bytes last no longer than the block. Without the chunk's size and the blank line.
    return withExtendedLifetime(end) { Array(end.bytes.dropFirst(3).dropLast(2)) }
  }

  /// The end of a chunked body, with the trailers that may pass (RFC 9110 section 6.5.1).
  func lastChunk() -> Block {
    guard case .chunked(let chunks) = framing else {
      let block = Block(capacity: 5)
      block.append("0\r\n\r\n")
      return block
    }
    let block = Block(capacity: chunks.decoder.trailers.keptSize + 5)
    var writer = ByteWriter(block.base, capacity: block.capacity)
    writer.appendLastChunk(trailersOf: chunks.decoder)
    block.end = writer.count
    return block
  }
}
