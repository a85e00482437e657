import HTTP2
import HTTPWire
import Streams
import Upstreams

/// One request that an app sends over HTTP/2, as a stream of HTTP/1.1: what is read is the request, what is written is taken for its
/// answer. So everything above knows one wire form only.
final class AppStream: StreamLayer {
  private let carrier: AppCarrier
  let ticket: StreamTicket
  /// Who serves it, and owns it in turn; nil: nobody any more.
  var user: ClientConnection?
  var request = ArrivingMessage()
  /// Of the answer; nil: its head was not sent.
  private var download: LeavingBody?
  /// What follows a body with a length: lines with CRLF.
  private var trailers: [UInt8] = []
  /// The app has reset it, or its connection is lost.
  var isBroken = false
  /// The answer was written whole.
  var isSent = false
  /// Since when its request is over, in nanoseconds of the loop's clock, and the answer is not written whole yet; nil: it is not so.
  var awaited: Int64?

  /// - Parameters:
  ///   - head: of a request; nil: there is none, as what came cannot be one.
  ///   - length: the value of its Content-Length; nil: it has none.
  init(_ carrier: AppCarrier, _ ticket: StreamTicket, head: UnsafeRawBufferPointer? = nil, length: Int? = nil) {
    self.carrier = carrier
    self.ticket = ticket
    super.init()
    if let head { request.take(head: head, length: length) }
  }

  /// What the app wants in no table of HPACK.
  var marked: IndexedNames { carrier.session.marked(ticket) }

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
      guard let end = headEnd(rest) else { return .failed }
      switch carrier.session.answer(ticket, head: UnsafeRawBufferPointer(rebasing: rest[..<end])) {
      case .interim: break
      case .final(let framing): download = LeavingBody(framing, trailers: trailers)
      case .gone, .unfit: return .failed
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[end...])
    }
    guard let count = download?.send(rest, to: carrier.session, ticket) ?? (rest.isEmpty ? 0 : nil) else { return .failed }
    let taken = bytes.count - rest.count + count
    carrier.wantsFlush()
    return taken > 0 ? .bytes(taken) : .later
  }

  /// What follows a body with a length, before its last byte is written.
  /// - Parameter lines: each with CRLF.
  func take(trailers lines: [UInt8]) {
    trailers = lines
    download?.trailers = lines
  }

  /// See `AppCarrier.endSoon`.
  func endConnection() { carrier.endSoon() }

  override func close() {
    if user?.stream.isCut != true { download?.close(carrier.session, ticket) }
    carrier.ended(self, download.map { $0.isWhole ? .whole : .part } ?? .nothing)
  }
}
