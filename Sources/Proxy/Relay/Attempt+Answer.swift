import EventIO
import HTTPWire

/// The way of the answer's head, and what is decided upon it.
extension Attempt {
  /// More 1xx responses to one request than anybody means.
  private static let interimLimit = 100

  func readHead() {
    while let connection, awaitsHead {
      if let block = connection.inbound, !block.isEmpty {
        switch connection.parseHead(limit: request.snapshot.settings.limits.responseHead) {
        case .complete:
          received(connection, block)
          continue
        case .invalid(let error):
          return fail(error == .headTooLarge || error == .tooManyFields ? .responseHeadTooLarge : .badResponse(error))
        case .incomplete: break
        }
      }
      switch connection.stream.read(into: connection.roomForHead().bodySpace) {
      case .bytes(let count):
        receivedAnything = true
        connection.inbound?.end += count
        if request.summary.firstByte == 0 { request.summary.firstByte = loop.now }
      case .later: return connection.rest()
      case .end, .truncated, .failed: return fail(.connectionLost(connection.stream.error))
      }
    }
  }

  private func received(_ connection: UpstreamConnection, _ block: Block) {
    let length = request.worker.responseHead.length
    let bytes = UnsafeRawBufferPointer(start: block.base + block.start, count: length)
    do {
      switch try request.decide(bytes, of: self) {
      case .interim:
        let isContinue = request.worker.responseHead.status == 100
        block.consume(length)
        interims += 1
        guard interims <= Self.interimLimit else { return fail(.tooManyInterims) }
        request.flushInterim()
        if isContinue, awaitsContinue {
          stopWaitingForContinue()
          if self.connection != nil { pumpUp() }
        }
      case .upgrade:
        block.consume(length)
        Tunnel.upgrade(self, request)
      case .relay(let download):
        awaitsHead = false
        block.consume(length)
        loop.disarm(connection)
        self.download = download
        if awaitsContinue { stopUploading() }
        download.begin(block)
      case .hold(let held):
        awaitsHead = false
        block.consume(length)
        if block.isEmpty { block.clearForBody() }
        loop.disarm(connection)
        self.held = held
        beginHolding()
      case .retryWithoutExpectation:
        awaitsHead = false
        abort()
        request.sendWithoutExpectation()
      case .retry(let wish, var body, let keepsUpstream):
        awaitsHead = false
        block.consume(length)
        guard let entry = request.entry else { return }
        // Small and here: the connection stays in step. Else it is closed.
        if !body.isDone, !block.isEmpty { _ = try? body.take(from: block) }
        if body.isDone { complete(reusable: keepsUpstream) } else { abort() }
        request.retry(entry, after: wish)
      }
    } catch { fail(error) }
  }
}
