import HTTP2
import HTTPWire
import Testing

/// A random number generator that repeats itself.
struct Dice: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}

/// A client and a server that talk in pieces of random sizes, with bodies both ways, resets and slow readers.
final class Conversation {
  private struct Call {
    let method: Int
    var upload: Int
    var wanted: Int
    var got = 0
    var head = ""
    var ended = false
  }

  private let client = ClientSession(limits: SessionLimits(), now: 0)
  private let server = ServerSession(limits: SessionLimits(), now: 0)
  private var dice: Dice
  private var toServer: [UInt8] = []
  private var toClient: [UInt8] = []
  private var calls: [StreamTicket: Call] = [:]
  private var served: [StreamTicket: Call] = [:]
  private(set) var completed = 0
  private(set) var cancelled = 0
  private var begun = 0
  private let count: Int

  init(seed: UInt64, count: Int) {
    dice = Dice(state: seed)
    self.count = count
  }

  /// - Returns: what went wrong; nil: nothing.
  func run() -> String? {
    for turn in 0..<200_000 {
      let now = Int64(turn) * 1_000_000
      if let fault = beginCalls() ?? step(now) { return fault }
      if begun == count, calls.isEmpty, served.isEmpty { return nil }
    }
    return "unfinished: \(calls), \(served)"
  }

  private func beginCalls() -> String? {
    while begun < count, client.canSubmit, calls.count < 20, Bool.random(using: &dice) {
      begun += 1
      let upload = Bool.random(using: &dice) ? Int.random(in: 0...200_000, using: &dice) : 0
      let wanted = Int.random(in: 0...300_000, using: &dice)
      let coding = upload > 0 ? "Transfer-Encoding: chunked\r\n" : ""
      let head = Array("POST /\(wanted)/\(upload) HTTP/1.1\r\nHost: a\r\nX-A: \(begun)\r\n\(coding)\r\n".utf8)
      guard case .stream(let ticket, _) = head.withUnsafeBytes({ client.submit(head: $0) }) else {
        return "not submitted"
      }
      calls[ticket] = Call(method: 0, upload: upload, wanted: wanted)
    }
    return nil
  }

  private func step(_ now: Int64) -> String? {
    move(client, &toServer, now)
    move(server, &toClient, now)
    deliver(&toServer, to: server, now)
    deliver(&toClient, to: client, now)
    if let failure = client.failure ?? server.failure { return "failed: \(failure)" }
    for (ticket, call) in calls { calls[ticket]?.upload = push(client, ticket, call.upload, call.ended) }
    for (ticket, call) in served where !call.head.isEmpty { served[ticket]?.wanted = push(server, ticket, call.wanted, false) }
    return readClient() ?? readServer()
  }

  private func move(_ session: Session, _ pipe: inout [UInt8], _ now: Int64) {
    guard session.wantsSend, pipe.count < 200_000 else { return }
    let size = Int.random(in: 2048...80_000, using: &dice)
    withUnsafeTemporaryAllocation(byteCount: size, alignment: 16) { buffer in
      pipe += buffer[..<session.send(into: buffer, now: now)]
    }
  }

  private func deliver(_ pipe: inout [UInt8], to session: Session, _ now: Int64) {
    let size = min(pipe.count, Int.random(in: 0...(Bool.random(using: &dice) ? 30 : 60_000), using: &dice))
    pipe[..<size].withUnsafeBytes { session.receive($0, now: now) }
    pipe.removeFirst(size)
  }

  /// Gives some of a body. -1: it has ended.
  private func push(_ session: Session, _ ticket: StreamTicket, _ left: Int, _ isOver: Bool) -> Int {
    guard left >= 0, !isOver else { return -1 }
    let piece = [UInt8](repeating: 7, count: min(left, Int.random(in: 0...100_000, using: &dice)))
    let rest = left - piece.withUnsafeBytes { session.append($0, to: ticket) }
    guard rest == 0 else { return rest }
    Array("X-Sum: 1\r\n\r\n".utf8).withUnsafeBytes { session.endBody(of: ticket, trailers: $0) }
    return -1
  }

  private func drain(_ session: Session, _ ticket: StreamTicket) -> Int {
    let held = session.body(of: ticket).count
    let count = Bool.random(using: &dice) ? held : Int.random(in: 0...held, using: &dice)
    session.consumed(ticket, count)
    return count
  }

  private func readClient() -> String? {
    while let event = client.nextEvent() {
      switch event {
      case .head(let ticket, let slice, _):
        calls[ticket]?.head = String(decoding: client.bytes(of: ticket, slice), as: UTF8.self)
      case .end(let ticket): calls[ticket]?.ended = true
      case .ended(_, let end): return "ended: \(end)"
      default: break
      }
    }
    for ticket in calls.keys.sorted(by: { $0.id < $1.id }) {
      calls[ticket]!.got += drain(client, ticket)
      let call = calls[ticket]!
      if call.ended, client.isDrained(ticket) {
        if call.got != call.wanted { return "\(call.got) bytes of \(call.wanted)" }
        if !call.head.hasPrefix("HTTP/1.1 200 OK\r\nX-B: ") { return "head: \(call.head)" }
        completed += 1
      } else if Int.random(in: 0..<2000, using: &dice) == 0 {
        cancelled += 1
      } else {
        continue
      }
      client.release(ticket)
      calls[ticket] = nil
    }
    return nil
  }

  private func readServer() -> String? {
    while let event = server.nextEvent() {
      switch event {
      case .head(let ticket, let slice, let ends):
        let numbers = String(decoding: server.bytes(of: ticket, slice), as: UTF8.self).split(separator: " ")[1].split(
          separator: "/")
        served[ticket] = Call(method: 0, upload: Int(numbers[1])!, wanted: Int(numbers[0])!, ended: ends)
      case .end(let ticket): served[ticket]?.ended = true
      case .sent(let ticket), .ended(let ticket, _):
        server.release(ticket)
        served[ticket] = nil
      default: break
      }
    }
    for ticket in served.keys.sorted(by: { $0.id < $1.id }) {
      served[ticket]!.got += drain(server, ticket)
      let call = served[ticket]!
      guard call.ended, server.isDrained(ticket), call.head.isEmpty else { continue }
      if call.got != call.upload { return "uploaded \(call.got) of \(call.upload)" }
      served[ticket]!.head = "x"
      let head = Array("HTTP/1.1 200 OK\r\nX-B: \(ticket.id)\r\n\r\n".utf8)
      if head.withUnsafeBytes({ server.answer(ticket, head: $0) }) != .final(.untilClose) { return "no answer" }
    }
    return nil
  }
}

@Suite("A client and a server")
struct ConversationTests {
  @Test("understand each other, however bytes arrive", arguments: 1...12)
  func random(seed: UInt64) {
    let conversation = Conversation(seed: seed, count: 60)
    #expect(conversation.run() == nil)
    #expect(conversation.completed + conversation.cancelled == 60)
    #expect(conversation.completed > 30)
  }
}
