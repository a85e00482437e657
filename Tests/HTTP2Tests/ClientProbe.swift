import HTTP2
import HTTPWire

/// An event with its text, as tests compare it.
enum Seen: Equatable {
  case interim(Int, String)
  case head(Int, String, ends: Bool)
  case refused(Int, RefusedRequest.Reason)
  case data(Int, String)
  case trailers(Int, String)
  case end(Int)
  case ended(Int, StreamEnd)
  case room(Int)
  case sent(Int)
  case goAway(Int, ErrorCode)
  case settings
  case pong
  case failed(SessionFailure)
}

/// What every test does with a session: feed it, read its events and its frames.
class Probe {
  let session: Session
  /// In ns.
  var now: Int64 = 1_000_000_000
  /// Whether `seen` consumes bodies.
  var consumes = true

  init(_ session: Session) { self.session = session }

  func feed(_ bytes: [UInt8], step: Int = .max) {
    var index = 0
    while index < bytes.count {
      let end = index + min(step, bytes.count - index)
      bytes[index..<end].withUnsafeBytes { session.receive($0, now: now) }
      index = end
    }
  }

  func feed(_ frames: Frame..., step: Int = .max) { feed(frames.flatMap(\.bytes), step: step) }

  /// Everything that is to be sent.
  func sentBytes(buffer size: Int = 70_000) -> [UInt8] {
    var bytes: [UInt8] = []
    withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
      while session.wantsSend {
        let count = session.send(into: buffer, now: now)
        if count == 0 { break }
        bytes += buffer[..<count]
      }
    }
    return bytes
  }

  func frames(buffer size: Int = 70_000) -> [Frame] { Frame.all(in: sentBytes(buffer: size)) }

  func seen() -> [Seen] {
    var seen: [Seen] = []
    while let event = session.nextEvent() {
      switch event {
      case .interimHead(let ticket, let slice): seen.append(.interim(Int(ticket.id), text(ticket, slice)))
      case .head(let ticket, let slice, let ends): seen.append(.head(Int(ticket.id), text(ticket, slice), ends: ends))
      case .refused(let ticket, let refused): seen.append(.refused(Int(ticket.id), refused.reason))
      case .data(let ticket):
        let body = String(decoding: session.body(of: ticket), as: UTF8.self)
        if consumes { session.consumed(ticket, body.utf8.count) }
        seen.append(.data(Int(ticket.id), body))
      case .trailers(let ticket, let slice): seen.append(.trailers(Int(ticket.id), text(ticket, slice)))
      case .end(let ticket): seen.append(.end(Int(ticket.id)))
      case .ended(let ticket, let end): seen.append(.ended(Int(ticket.id), end))
      case .room(let ticket): seen.append(.room(Int(ticket.id)))
      case .sent(let ticket): seen.append(.sent(Int(ticket.id)))
      case .goAway(let goAway): seen.append(.goAway(Int(goAway.lastStream), goAway.code))
      case .settings: seen.append(.settings)
      case .pong: seen.append(.pong)
      case .failed(let failure): seen.append(.failed(failure))
      }
    }
    return seen
  }

  func append(_ body: [UInt8], to ticket: StreamTicket) -> Int { body.withUnsafeBytes { session.append($0, to: ticket) } }

  func endBody(of ticket: StreamTicket, trailers: String) {
    Array(trailers.utf8).withUnsafeBytes { session.endBody(of: ticket, trailers: $0) }
  }

  private func text(_ ticket: StreamTicket, _ slice: ByteSlice) -> String {
    String(decoding: session.bytes(of: ticket, slice), as: UTF8.self).replacing("\r\n", with: "|")
  }
}

/// A client's session, and the server that the test plays.
final class ClientProbe: Probe {
  let client: ClientSession
  let decoder = HeaderDecoder()

  /// After both sides' SETTINGS, unless `greets` is false.
  init(
    limits: SessionLimits = SessionLimits(), settings: [(UInt16, UInt32)] = [], windows: (any WindowBudget)? = nil,
    greets: Bool = true
  ) {
    client = ClientSession(limits: limits, windows: windows, now: 1_000_000_000)
    super.init(client)
    guard greets else { return }
    _ = sentBytes()
    feed(.settings(settings), .settingsAck)
    _ = seen()
    _ = sentBytes()
  }

  func submit(
    _ head: String, secretFrom: Int = .max, marked: IndexedNames = [], isSecretPath: Bool = false
  )
    -> ClientSession.Submitted
  {
    let text = Array(head.replacing("|", with: "\r\n").utf8)
    return text.withUnsafeBytes {
      client.submit(head: $0, secretFrom: secretFrom, marked: marked, isSecretPath: isSecretPath)
    }
  }

  /// A request without a body, already written.
  func get(_ path: String = "/", method: String = "GET") -> StreamTicket {
    let ticket = begin("\(method) \(path) HTTP/1.1|Host: a.example|Accept: */*||")
    _ = sentBytes()
    return ticket
  }

  func begin(_ head: String) -> StreamTicket {
    guard case .stream(let ticket, _) = submit(head) else { preconditionFailure("not submitted") }
    return ticket
  }
}
