import RESP

/// The client's side of one connection: bytes and times in, bytes and events out. It greets, says who it is, subscribes, and pairs
/// each reply with its command. It has no socket and no clock.
///
///     greeting -> ready -> ended
///         \_________________/
public struct RedisSession: Sendable {
  public enum Purpose: Sendable, Hashable {
    /// Of the primary, or of any node of a cluster, with notifications from this channel.
    case store(channel: [UInt8])
    /// Of a further node of a cluster.
    case node
    case sentinel
  }

  /// Names a command on this connection.
  public typealias Ticket = UInt64

  public enum Event: Sendable, Hashable {
    case ready(RedisServer)
    /// Somebody has changed the record with this key, perhaps this process itself.
    case changed(key: [UInt8])
    case replied(Ticket, RESPValue)
    case refused(Ticket, RedisRefusal)
    /// The last one. Commands without a reply get none; whether they were done is unknown.
    case ended(RedisFailure)
  }

  private enum Awaited {
    case hello
    case selected
    case subscribed
    case subscriberCount
    case ignored
    case command(Ticket)
  }

  private enum Phase { case new, greeting, ready, ended }

  private let purpose: Purpose
  private let login: RedisLogin?
  private let database: Int
  /// Milliseconds.
  private let timeout: Int
  private var phase = Phase.new
  private var parser = RESPParser()
  private var output: [UInt8] = []
  private var awaited = ReplyLine<(what: Awaited, since: Int64)>()
  private var lastTicket: Ticket = 0
  /// Nanoseconds: when the greeting began, or the last reply came. A reply cannot come before the one before it.
  private var lastProgress: Int64 = 0
  private var server: RedisServer?

  /// - Parameters:
  ///   - login: nil: the server wants none.
  ///   - milliseconds: for the greeting, and for each reply from when it is the next one.
  public init(_ purpose: Purpose, login: RedisLogin?, database: Int = 0, timeout milliseconds: Int) {
    self.purpose = purpose
    self.login = login
    self.database = database
    timeout = milliseconds
  }

  /// Nothing was said yet.
  public var isNew: Bool { phase == .new }

  // MARK: Out

  /// The connection is there, and its server trusted. Times are nanoseconds of any one monotonic clock.
  public mutating func begin(now: Int64) {
    precondition(phase == .new)
    phase = .greeting
    lastProgress = now
    write(.hello(login), .hello, now)
    if database != 0, purpose != .sentinel { write(.select(database), .selected, now) }
    if case .store(let channel) = purpose {
      write(.subscribe(channel), .subscribed, now)
      write(.countSubscribers(channel), .subscriberCount, now)
    }
  }

  /// Only after `ready`. After the end, which may be among events that are still being delivered, it does nothing.
  /// - Parameter asking: the command was redirected here with ASK.
  public mutating func send(_ command: RESPCommand, asking: Bool = false, now: Int64) -> Ticket {
    precondition(phase == .ready || phase == .ended)
    lastTicket += 1
    guard phase == .ready else { return lastTicket }
    if asking { write(.asking, .ignored, now) }
    write(command, .command(lastTicket), now)
    return lastTicket
  }

  private mutating func write(_ command: RESPCommand, _ reply: Awaited, _ now: Int64) {
    command.write(to: &output)
    awaited.append((reply, now))
  }

  public var hasOutput: Bool { !output.isEmpty }

  /// What is to be written next. It is not there any more afterwards.
  public mutating func takeOutput() -> [UInt8] {
    defer { output = [] }
    return output
  }

  // MARK: Time

  /// When the reply that is the next one is overdue; nil: nothing is waited for.
  public var deadline: Int64? {
    guard phase != .ended, let next = awaited.first else { return nil }
    let start = phase == .greeting ? lastProgress : max(next.since, lastProgress)
    return start + Int64(timeout) * 1_000_000
  }

  /// What was to be written was held back until now, so the server had no time yet.
  public mutating func postpone(to now: Int64) { lastProgress = max(lastProgress, now) }

  /// - Returns: the end, if the deadline has passed.
  public mutating func expired(now: Int64) -> Event? {
    guard let deadline, deadline <= now else { return nil }
    return end(phase == .greeting ? .connectTimeout(milliseconds: timeout) : .replyTimeout(milliseconds: timeout))
  }

  // MARK: In

  /// Takes the server's next bytes. After `ended` it takes none.
  public mutating func receive(_ bytes: UnsafeRawBufferPointer, now: Int64) -> [Event] {
    var events: [Event] = []
    var rest = bytes
    while phase != .ended, !rest.isEmpty {
      do throws(RedisFailure) {
        let value: RESPValue?
        do throws(RESPFault) {
          let (used, whole) = try parser.receive(rest)
          rest = UnsafeRawBufferPointer(rebasing: rest[used...])
          value = whole
        } catch {
          throw .malformed(error)
        }
        if let value { try take(value, now, &events) }
      } catch {
        events.append(end(error))
      }
    }
    return events
  }

  /// The server has closed the connection, or it is broken.
  public mutating func closed() -> Event? { phase == .ended ? nil : end(.closed) }

  private mutating func end(_ failure: RedisFailure) -> Event {
    phase = .ended
    return .ended(failure)
  }

  private mutating func take(_ value: RESPValue, _ now: Int64, _ events: inout [Event]) throws(RedisFailure) {
    if case .push(let values) = value { return try takePush(values, now, &events) }
    guard let next = awaited.first?.what else {
      // Some servers say at once that they have no room.
      if case .error(let error) = value { throw .refused(RedisRefusal(error)) }
      throw .unexpectedReply
    }
    if case .error(let error) = value { return try refuse(next, RedisRefusal(error), now, &events) }
    switch next {
    case .hello:
      let server = try RedisServer(hello: value)
      try check(server)
      self.server = server
    case .selected:
      guard value.bytes == Array("OK".utf8) else { throw .unexpectedReply }
    case .subscribed:
      // With RESP3 its reply is a push.
      throw .unexpectedReply
    case .subscriberCount:
      guard case .store(let channel) = purpose else { throw .unexpectedReply }
      server?.subscribers = try value.subscribers(to: channel)
    case .ignored: break
    case .command(let ticket): events.append(.replied(ticket, value))
    }
    advance(now, &events)
  }

  private mutating func refuse(
    _ what: Awaited, _ refusal: RedisRefusal, _ now: Int64, _ events: inout [Event]
  ) throws(RedisFailure) {
    switch what {
    case .command(let ticket):
      events.append(.refused(ticket, refusal))
      if refusal.endsConnection { throw .refused(refusal) }
      advance(now, &events)
    case .ignored: advance(now, &events)
    case .hello, .selected, .subscribed, .subscriberCount: throw .refused(refusal)
    }
  }

  private mutating func takePush(_ values: [RESPValue], _ now: Int64, _ events: inout [Event]) throws(RedisFailure) {
    guard let kind = values.first?.bytes, case .store(let channel) = purpose, values.count > 2, values[1].bytes == channel
    else {
      return
    }
    switch kind {
    case Array("message".utf8):
      if let key = values[2].bytes { events.append(.changed(key: key)) }
    case Array("subscribe".utf8):
      guard case .subscribed? = awaited.first?.what else { throw .unexpectedReply }
      advance(now, &events)
    default: break
    }
  }

  /// The next reply is done with.
  private mutating func advance(_ now: Int64, _ events: inout [Event]) {
    awaited.removeFirst()
    guard phase == .greeting else {
      lastProgress = now
      return
    }
    guard awaited.isEmpty, let server else { return }
    phase = .ready
    lastProgress = now
    events.append(.ready(server))
  }

  private func check(_ server: RedisServer) throws(RedisFailure) {
    guard (server.mode == .sentinel) == (purpose == .sentinel) else { throw .wrongMode }
    // A replica of a cluster redirects what it does not have; one of a standalone server refuses to write.
    if server.mode == .standalone, !server.isPrimary { throw .notPrimary }
  }
}

/// A queue over an array.
struct ReplyLine<Element> {
  private var elements: [Element] = []
  private var start = 0

  var isEmpty: Bool { start == elements.count }
  var first: Element? { isEmpty ? nil : elements[start] }

  mutating func append(_ element: Element) { elements.append(element) }

  mutating func removeFirst() {
    start += 1
    guard start == elements.count || start > 64 && start > elements.count / 2 else { return }
    elements.removeFirst(start)
    start = 0
  }
}

extension ReplyLine: Sendable where Element: Sendable {}
