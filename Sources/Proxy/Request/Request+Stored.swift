import Cache
import EventIO
import Forwarding
import HTTPWire

/// Answers from the store.
extension Request {
  /// A body up to this size is copied behind its head: one range is cheaper than two.
  private static let joined = StoredBody.flatLimit

  /// Writes the head of a stored answer, and readies its body.
  /// - Returns: whether the app's connection stays open after it.
  func write(_ reply: StoredReply) -> Bool {
    pulse.moved()
    let age = reply.age(loop.now)
    let keepsClient = message.persists && body.isDone && !app.isClosing
    let name = snapshot.name.bytes
    let range = reply.range(isHead: message.outbound.method == .head)
    let joins = range.count <= Self.joined
    let (head, stored) = (reply.head, reply.body)
    let block = app.outbound(
      with: head.sizeLimit + reply.lines.count + ByteWriter.cacheStatusLimit + name.count + 64 + (joins ? range.count : 0))
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(head, part: reply.part, size: stored.size, age: age)
    if !reply.lines.isEmpty { writer.append(reply.lines) }
    writer.append(cacheStatus: reply.outcome, name: name)
    if !keepsClient { writer.appendField("Connection", "close") }
    writer.appendCRLF()
    // Of an answer that has broken before its first byte went.
    if cache?.reading != nil { cache?.reading = nil }
    if !range.isEmpty {
      if joins {
        stored.forEachPiece(of: range) { writer.append($0) }
      } else {
        cache?.reading = BodyReading(
          stored.reader(), range: range, framing: .length(Int64(range.count)), keepsClient: keepsClient)
      }
    }
    block.end = writer.count
    record.answer.status = reply.status
    record.answer.author = .upstream
    record.answer.cache = CacheReport(reply.outcome, age: age)
    return keepsClient
  }

  /// Sends what is ready of a body that the store has, or is about to have.
  func sendReading(_ state: CacheState, keepsClient: Bool) -> RequestMachine.Input? {
    let pulse = pulse
    let outcome = state.reading?.pump(app, pulse, sent: &record.bytesSent)
    if let position = state.reading?.position {
      state.sharing.fetch?.leaderMoved(to: position)
      state.sharing.joined?.moved(to: position)
    }
    switch outcome {
    case nil, .blocked: return nil
    case .whole:
      state.reading = nil
      return .answerSent(keepsClient: keepsClient)
    case .broken:
      let hasBegun = state.reading?.hasBegun ?? true
      _ = failing(.bodyBroken)
      return .answerBroken(hasBegun: hasBegun)
    case .appLeft: return .clientBroken
    }
  }
}
