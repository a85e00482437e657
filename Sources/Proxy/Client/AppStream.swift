import HTTP2
import Streams
import Upstreams

/// One request that an app sends over HTTP/2, as a stream of HTTP/1.1: what is read is the request, what is written is taken for its
/// answer. So everything above knows one wire form only.
final class AppStream: StreamLayer {
  private let carrier: AppCarrier
  let ticket: StreamTicket
  /// Who serves it; nil: nobody any more.
  weak var user: ClientConnection?
  var isTouched = false
  var request = ArrivingMessage()
  private let isHead: Bool
  /// Of the answer; nil: its head was not sent.
  private var download: LeavingBody?
  /// The app has reset it, or its connection is lost.
  var isBroken = false
  /// The answer was written whole.
  var isSent = false
  /// Its request is over, and the answer is not written whole yet.
  var isAwaited = false

  init(_ carrier: AppCarrier, _ ticket: StreamTicket, head: UnsafeRawBufferPointer) {
    self.carrier = carrier
    self.ticket = ticket
    isHead = head.starts(with: Array("HEAD ".utf8))
    super.init()
    request.take(head: head)
  }

  override func read(into space: UnsafeMutableRawBufferPointer) -> ByteStream.Read {
    let result = request.read(into: space, from: carrier.session, ticket, failed: isBroken)
    if !request.hasEnded, case .bytes = result { carrier.wantsFlush() }
    // Another request is another stream.
    if case .end = result { return .later }
    return result
  }

  override var remainder: ByteStream.Remainder { .end }

  override func write(_ bytes: UnsafeRawBufferPointer) -> ByteStream.Write {
    if isBroken { return .failed }
    var rest = bytes
    while download == nil, !rest.isEmpty {
      // Each head is offered whole.
      guard let end = headEnd(rest), answer(UnsafeRawBufferPointer(rebasing: rest[..<end])) else { return .failed }
      rest = UnsafeRawBufferPointer(rebasing: rest[end...])
    }
    guard let count = download?.send(rest, to: carrier.session, ticket) ?? (rest.isEmpty ? 0 : nil) else { return .failed }
    let taken = bytes.count - rest.count + count
    carrier.wantsFlush()
    return taken > 0 ? .bytes(taken) : .later
  }

  /// - Parameter head: of an interim response, or the final one.
  private func answer(_ head: UnsafeRawBufferPointer) -> Bool {
    // "HTTP/1.1 1.."
    let isInterim = head.count > 9 && head[9] == UInt8(ascii: "1")
    let framing = SentFraming(ofAnswer: head, isBodiless: isHead)
    let hasBody = framing != .none && framing != .length(0)
    guard carrier.session.answer(ticket, head: head, hasBody: !isInterim && hasBody) else { return false }
    if !isInterim { download = LeavingBody(framing) }
    return true
  }

  /// See `AppCarrier.endSoon`.
  func endConnection() { carrier.endSoon() }

  override func close() {
    if user?.stream.isCut != true { download?.close(carrier.session, ticket) }
    carrier.ended(self, isWhole: download?.isWhole == true)
  }
}
