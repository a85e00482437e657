import EventIO
import Forwarding
import HTTPWire

/// The proxy's own answers.
extension Request {
  /// Writes an answer of the proxy's own.
  /// - Returns: whether the app's connection stays open after it.
  func write(_ reply: Reply) -> Bool {
    pulse.moved()
    var own: OwnAnswer
    switch reply {
    case .established:
      record.answer.status = 200
      writeEstablished()
      return true
    case .own(let answer): own = answer
    case .stored(let stored): return write(stored)
    case .joined(let answer): return write(answer)
    case .shared: return cache?.reading?.keepsClient ?? false
    case .error(let error):
      own = error.answer(for: way?.entry.name)
      // The app knows nothing of the host that failed.
      if let note = redirection?.note { own.details = own.details.map { "\(note): \($0)" } ?? note }
      note(own)
    }
    record.answer.author = .proxy
    record.answer.status = own.status
    // Otherwise the unread rest of a body would be taken for the next request.
    let keepsAlive = message.persists && body.isDone && !own.closes && !app.isClosing
    // The block may have an interim response, of which half was sent.
    let block = app.outbound(with: own.sizeLimit(by: snapshot.name) + (record.target.isCall ? 1024 : 0))
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    if record.target.isCall, app.isStream {
      own.writeToCall(by: snapshot.name, dateLine: services.currentDateLine(), into: &writer)
      block.end = writer.count
      return keepsAlive
    }
    own.write(
      by: snapshot.name, isHead: message.outbound.method == .head, keepsAlive: keepsAlive,
      dateLine: services.currentDateLine(), isHTTP2: record.upstream.stream > 0, into: &writer)
    block.end = writer.count
    return keepsAlive
  }

  /// The 200 to a CONNECT. RFC 9110 section 8.6: it has no Content-Length.
  func writeEstablished() { app.outbound(with: 64).append("HTTP/1.1 200 Connection established\r\n\r\n") }

  /// Removes the origin's head from the outbound block, so that another answer can take its place. No byte of the head has been
  /// sent.
  /// - Parameter interim: bytes of interim responses, which stay.
  func dropComposedAnswer(behind interim: Int) {
    guard let block = app.outbound else { return }
    block.end = block.start + interim
    if block.isEmpty { app.giveBackOutbound() }
  }
}
