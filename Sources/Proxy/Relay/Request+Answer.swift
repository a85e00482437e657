import EventIO
import Forwarding
import HTTPWire

/// How a request ends: with the upstream's answer, one of the proxy's own, or none.
extension Request {
  /// A head that could not be parsed: what follows it on the connection means nothing.
  func refuseUnparsed(_ error: ProxyError) {
    clientPersists = false
    fail(error)
  }

  /// The one way from an error to the app: an answer where none has begun, else a cut that cannot be taken for an end.
  func fail(_ error: ProxyError) {
    guard !hasEnded else { return }
    let isCloseDelimited = attempt?.isCloseDelimitedToClient ?? false
    abandonAttempt()
    let refusal = error.answer(for: entry)
    summary.error = summary.error ?? refusal.error.map { "\($0)" }
    summary.details = summary.details ?? refusal.details
    if case .begun = answer {
      end()
      client.close(reset: isCloseDelimited)
    } else {
      dropComposedAnswer()
      finish(with: refusal)
    }
  }

  /// The upstream's head stands in the outbound block, but not a byte of it has left: another answer takes its place.
  private func dropComposedAnswer() {
    guard case .composed(let interim) = answer, let block = client.outbound else { return }
    block.end = block.start + interim
    answer = .none
    if block.isEmpty {
      client.outbound = nil
      loop.blocks.giveBack(block)
    }
  }

  /// Answers for the proxy itself.
  func finish(with own: OwnAnswer) {
    answer = .begun
    summary.author = .proxy
    summary.status = own.status
    // What was not read of a body would be taken for the next request.
    keepsAfterAnswer = clientPersists && body.isDone && !own.closes && !client.isClosing
    // An interim response may stand there, half of it sent.
    var block = client.outbound ?? loop.blocks.borrow()
    let size = own.sizeLimit(by: snapshot.name)
    if size > block.room {
      let larger = Block(capacity: block.count + size)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      block = larger
    }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    own.write(
      by: snapshot.name, isHead: method == .head, keepsAlive: keepsAfterAnswer == true, dateLine: worker.currentDateLine(),
      into: &writer)
    block.end = writer.count
    client.outbound = block
    progressed()
    flushAnswer()
  }

  /// 200 to a CONNECT that leads to an entry: what follows are requests.
  func finishConnect() {
    clientPersists = true
    answer = .begun
    summary.status = 200
    keepsAfterAnswer = true
    // RFC 9110 section 8.6: no Content-Length in a 2xx to CONNECT.
    let block = client.outbound ?? loop.blocks.borrow()
    block.append("HTTP/1.1 200 Connection established\r\n\r\n")
    client.outbound = block
    progressed()
    flushAnswer()
  }

  /// The app's side has taken bytes of the outbound block, or of a body behind it.
  @inline(__always)
  func sentOfAnswer(_ count: Int) {
    summary.bytesSent += Int64(count)
    if case .composed(let interim) = answer { answer = count > interim ? .begun : .composed(behind: interim - count) }
    progressed()
  }

  func flushAnswer() {
    guard let keepsAlive = keepsAfterAnswer, let block = client.outbound else { return }
    while !block.isEmpty {
      switch client.stream.write(block.bytes) {
      case .bytes(let count):
        summary.bytesSent += Int64(count)
        block.consume(count)
      case .later: return
      case .failed: return clientLeft()
      }
    }
    client.outbound = nil
    loop.blocks.giveBack(block)
    end()
    client.requestEnded(keepAlive: keepsAlive)
  }

  /// The upstream's answer has gone to the app in full.
  func relayed(keepAlive: Bool) {
    attempt = nil
    end()
    client.requestEnded(keepAlive: keepAlive && body.isDone)
  }

  /// A tunnel has taken over, or has ended: only the record is left to write.
  func endedAsTunnel() {
    attempt = nil
    end()
  }
}
