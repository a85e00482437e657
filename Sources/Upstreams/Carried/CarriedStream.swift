import EventIO
import HTTP2
import HTTPWire
import Streams

/// One request on an HTTP/2 connection, as a stream of HTTP/1.1: what is written is taken for a request and its body, what is read is the
/// answer. So everything above knows one wire form only.
final class CarriedStream: StreamLayer {
  private let carrier: Carrier
  /// Its place in the session, once the head was sent.
  var ticket: StreamTicket?
  /// Who reads and writes it, until it closes. Not weak: that makes each retain of the user slow.
  var user: UpstreamConnection?
  /// When the last bytes were written, in nanoseconds of the loop's clock.
  private(set) var written: Int64 = 0
  /// Names that the app wants never indexed (RFC 7541 section 7.1.3).
  var marked: IndexedNames = []
  /// Of the request; nil: its head was not sent.
  private var upload: LeavingBody?
  /// What follows a body with a length: lines with CRLF.
  private var trailers: [UInt8] = []
  var answer = ArrivingMessage()
  /// Its user has read the whole answer, as its head says.
  private(set) var isAnswered = false
  /// No head came in time.
  var isOverdue = false
  /// Why the answer will not come whole.
  var failure: HTTP2Failure?

  init(_ carrier: Carrier) { self.carrier = carrier }

  /// Why it fails.
  var error: UpstreamError {
    guard let failure = failure ?? carrier.failure else { return .connectionLost(0) }
    return failure == .headTooLarge ? .responseHeadTooLarge : .http2(failure)
  }
  var number: Int32? { ticket?.id }
  /// What was written has not left yet.
  var holdsRequest: Bool { ticket.map(carrier.session.holdsBody(of:)) ?? false }
  /// When a byte was last written here, or left.
  var requestMoved: Int64 { max(written, ticket.map(carrier.session.lastWritten(of:)) ?? 0) }

  func answered() { isAnswered = true }

  /// What follows a body with a length, before its last byte is written.
  /// - Parameter lines: each with CRLF.
  func take(trailers lines: [UInt8]) {
    trailers = lines
    upload?.trailers = lines
  }

  /// The answer is 421.
  func misdirected() { carrier.misdirected() }

  override func write(_ bytes: UnsafeRawBufferPointer) -> ByteStream.Write {
    // After an early answer the rest of the body goes nowhere.
    if failure != nil || answer.hasEnded { return .failed }
    var rest = bytes
    if upload == nil {
      // The whole of it is offered at once.
      guard let end = headEnd(bytes), let framing = carrier.submit(self, UnsafeRawBufferPointer(rebasing: bytes[..<end]))
      else { return .failed }
      upload = LeavingBody(framing, trailers: trailers)
      rest = UnsafeRawBufferPointer(rebasing: bytes[end...])
    }
    guard let ticket, let count = upload?.send(rest, to: carrier.session, ticket) else { return .failed }
    let taken = bytes.count - rest.count + count
    guard taken > 0 else { return .later }
    written = carrier.loop.now
    carrier.wantsFlush()
    return .bytes(taken)
  }

  override func read(into space: UnsafeMutableRawBufferPointer) -> ByteStream.Read {
    guard let ticket else { return failure == nil ? .later : .failed }
    let result = answer.read(into: space, from: carrier.session, ticket, failed: failure != nil)
    // The origin may send more now.
    if !answer.hasEnded, case .bytes = result { carrier.wantsFlush() }
    return result
  }

  override var arrived: UnsafeRawBufferPointer {
    ticket.map { answer.arrived(from: carrier.session, $0) } ?? UnsafeRawBufferPointer(start: nil, count: 0)
  }

  override func consume(_ count: Int) {
    guard let ticket else { return }
    answer.consume(count, from: carrier.session, ticket)
    if !answer.hasEnded { carrier.wantsFlush() }
  }

  override func close() {
    user = nil
    carrier.ended(self, isWhole: answer.hasEnded && upload?.isWhole == true)
    ticket = nil
  }

  /// It has ended, and those in line have had its place on the carrier.
  func left() { carrier.rest() }
}
