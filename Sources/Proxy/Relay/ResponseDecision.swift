import CSystem
import EventIO
import Forwarding
import HTTPWire

extension Request {
  enum Decision {
    /// An informational response: relayed, or swallowed; the final one follows.
    case interim
    /// 101: the connection changes its protocol.
    case upgrade
    case relay(Download)
    /// It refuses the credential: kept back until that is settled.
    case hold(HeldAnswer)
    /// Sent again at once, without `Expect`.
    case retryWithoutExpectation
    /// Sent again after a while; `Retry-After` in seconds where there was one. What is swallowed has this body.
    case retry(Int?, BodySource, keepsUpstream: Bool)
  }

  /// The one decision after a response head (`worker.responseHead`, over `bytes`). What goes to the app is written into the client's
  /// outbound block.
  func decide(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) throws(ProxyError) -> Decision {
    guard let entry, let pool else { throw .internalError }
    let status = worker.responseHead.status
    if status == 101 {
      // What is left of the request would be read as the other protocol.
      guard attempt.upload.isDone else { throw .unexpectedUpgrade }
      do {
        let head = try OutboundResponse(
          switching: &worker.responseHead, in: bytes, to: outbound, of: pool.origin.authority, rules: entry.rules,
          asked: summary.authority)
        write(head, bytes, entry.rules)
      } catch { throw ProxyError(error, for: entry) }
      summary.status = 101
      summary.author = .upstream
      answer = .begun
      return .upgrade
    }
    if worker.responseHead.isInterim {
      writeInterim(bytes, entry.rules)
      return .interim
    }
    if worker.responseHead.authenticatesConnection(in: bytes) { attempt.connection?.bind(to: self) }
    let framing: BodyFraming
    do { framing = try worker.responseHead.framing(to: method, in: bytes) } catch { throw .badResponse(error) }
    let keepsUpstream = worker.responseHead.persists(in: bytes)
    if retriesWithoutExpectation(status, attempt) { return .retryWithoutExpectation }
    if credential != nil, holds(worker.responseHead, bytes) {
      return .hold(HeldAnswer(bytes, framing: framing, keepsUpstream: keepsUpstream))
    }
    if let wish = retryWish(status, worker.responseHead, bytes, entry) {
      return .retry(wish.seconds, BodySource(framing), keepsUpstream: keepsUpstream)
    }

    let coding = entry.rules.codingToRemove(from: worker.responseHead, in: bytes, answering: outbound)
    var inflater: Inflater?
    if let coding, framing != .none { inflater = Inflater(coding) }
    let isUploadCut = !attempt.upload.isDone && (status >= 300 || attempt.awaitsContinue)
    if worker.responseHead.isEventStream(in: bytes) { stall = entry.timeouts.tunnel }
    summary.status = status
    summary.author = .upstream
    answer = .composed(behind: client.outbound?.count ?? 0)
    let head = OutboundResponse(
      &worker.responseHead, in: bytes, body: framing, to: outbound, isInflated: inflater != nil, wasCoded: coding != nil,
      keepsClient: clientPersists && !client.isClosing && !isUploadCut, note: proxyStatusNote, of: pool.origin.authority,
      rules: entry.rules, asked: summary.authority)
    write(head, bytes, entry.rules)
    return .relay(
      Download(
        attempt,
        Download.Plan(
          source: framing, sink: head.framing, keepsClient: head.keepsClient, keepsUpstream: keepsUpstream,
          inflater: inflater)))
  }

  private struct Wish { var seconds: Int? }

  /// Whether the entry's `retry` asks for another attempt; a Retry-After beyond `max_wait` is relayed instead.
  private func retryWish(
    _ status: Int, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ entry: Entry
  ) -> Wish? {
    let policy = entry.settings.retry
    guard policy.attempts > 0, policy.statuses.contains(status), mayRetry(entry) else { return nil }
    let wish = head.retryAfter(now: wallClockSeconds(), in: bytes).map { Int(clamping: $0) }
    if let wish, wish > policy.maxWait / 1_000 { return nil }
    return Wish(seconds: wish)
  }

  private func writeInterim(_ bytes: UnsafeRawBufferPointer, _ rules: ForwardingRules) {
    let interim = InterimResponse(&worker.responseHead, in: bytes, to: outbound, awaitsContinue: expectsContinue)
    guard let interim else { return }
    let block = client.outbound ?? loop.blocks.borrow()
    guard interim.sizeLimit(of: worker.responseHead, rules: rules) <= block.room else { return }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    interim.write(worker.responseHead, in: bytes, rules: rules, into: &writer)
    block.end = writer.count
    client.outbound = block
    if worker.responseHead.status == 100 { expectsContinue = false }
  }

  private func write(_ head: borrowing OutboundResponse, _ bytes: UnsafeRawBufferPointer, _ rules: ForwardingRules) {
    let size = head.sizeLimit(of: bytes, worker.responseHead, rules: rules)
    var block = client.outbound ?? loop.blocks.borrow()
    if size > block.room {
      let larger = Block(capacity: block.count + size)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      block = larger
    }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    head.write(worker.responseHead, in: bytes, rules: rules, dateLine: worker.currentDateLine(), into: &writer)
    block.end = writer.count
    client.outbound = block
  }
}

/// Seconds since 1970.
func wallClockSeconds() -> Int64 { csys_wall_clock() / 1_000_000_000 }
