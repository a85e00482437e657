import CFuzzer
import RESP
import RedisProtocol

@_cdecl("RESPFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// The first byte says how the rest is cut. In pieces it means what it means at once: as values, as a greeting, and as replies.
private func check(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first else { return }
  let input = UnsafeRawBufferPointer(rebasing: bytes[1...])
  let step = 1 + Int(first >> 3)
  precondition(values(input, input.count) == values(input, step))
  precondition(greeting(input, input.count) == greeting(input, step))
  precondition(replies(input, input.count) == replies(input, step))
}

private func pieces(_ input: UnsafeRawBufferPointer, _ step: Int, _ body: (UnsafeRawBufferPointer) -> Bool) {
  var index = 0
  while index < input.count {
    let end = min(index + max(step, 1), input.count)
    if !body(UnsafeRawBufferPointer(rebasing: input[index..<end])) { return }
    index = end
  }
}

/// What bytes came to, with a value in the place of numbers that are none: those differ from themselves.
private struct Read: Equatable {
  var values: [RESPValue] = []
  var fault: RESPFault?
}

private func comparable(_ value: RESPValue) -> RESPValue {
  switch value {
  case .double(let number) where number.isNaN: .bigNumber([])
  case .array(let values): .array(values.map(comparable))
  case .set(let values): .set(values.map(comparable))
  case .push(let values): .push(values.map(comparable))
  case .map(let entries): .map(entries.map { .init(key: comparable($0.key), value: comparable($0.value)) })
  default: value
  }
}

private func values(_ input: UnsafeRawBufferPointer, _ step: Int) -> Read {
  var limits = RESPParser.Limits()
  (limits.bytes, limits.values, limits.depth) = (2_000, 50, 4)
  var parser = RESPParser(limits: limits)
  var found = Read()
  pieces(input, step) { piece in
    var rest = piece
    while !rest.isEmpty {
      do throws(RESPFault) {
        let (used, value) = try parser.receive(rest)
        precondition(used > 0 && used <= rest.count && (value != nil || used == rest.count))
        rest = UnsafeRawBufferPointer(rebasing: rest[used...])
        guard let value else { continue }
        found.values.append(comparable(value))
        precondition(depth(value) <= limits.depth && count(value) <= limits.values)
      } catch {
        found.fault = error
        return false
      }
    }
    return true
  }
  return found
}

private func parts(_ value: RESPValue) -> [RESPValue] {
  switch value {
  case .array(let values), .set(let values), .push(let values): values
  case .map(let entries): entries.flatMap { [$0.key, $0.value] }
  default: []
  }
}
private func depth(_ value: RESPValue) -> Int {
  switch value {
  case .array, .set, .push, .map: 1 + (parts(value).map(depth).max() ?? 0)
  default: 0
  }
}
private func count(_ value: RESPValue) -> Int { parts(value).reduce(0) { $0 + 1 + count($1) } }

private let channel = Array("authproxy:changed".utf8)

private func greeting(_ input: UnsafeRawBufferPointer, _ step: Int) -> [RedisSession.Event] {
  var session = RedisSession(.store(channel: channel), login: nil, timeout: 1_000)
  session.begin(now: 0)
  return events(&session, input, step)
}

private let goodGreeting = Array(
  ("%3\r\n+proto\r\n:3\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n>3\r\n+subscribe\r\n+authproxy:changed\r\n:1\r\n"
    + "*2\r\n+authproxy:changed\r\n:7\r\n").utf8)

private func replies(_ input: UnsafeRawBufferPointer, _ step: Int) -> [RedisSession.Event] {
  var session = RedisSession(.store(channel: channel), login: nil, timeout: 1_000)
  session.begin(now: 0)
  let ready = goodGreeting.withUnsafeBytes { session.receive($0, now: 0) }
  precondition(ready.count == 1)
  for key in 0..<8 { _ = session.send(.read([UInt8(key)]), asking: key == 3, now: 0) }
  return events(&session, input, step)
}

private func events(_ session: inout RedisSession, _ input: UnsafeRawBufferPointer, _ step: Int) -> [RedisSession.Event] {
  var found: [RedisSession.Event] = []
  var last: RedisSession.Ticket = 0
  var hasEnded = false
  pieces(input, step) { piece in
    for event in session.receive(piece, now: 0) {
      precondition(!hasEnded, "an event after the end")
      switch event {
      case .replied(let ticket, let value):
        precondition(ticket == last + 1 && ticket <= 8)
        last = ticket
        read(value)
        found.append(.replied(ticket, comparable(value)))
        continue
      case .refused(let ticket, let refusal):
        precondition(ticket == last + 1 && ticket <= 8)
        last = ticket
        precondition(!refusal.description.isEmpty)
      case .ended(let failure):
        hasEnded = true
        precondition(!failure.description.isEmpty)
      case .ready, .changed: break
      }
      found.append(event)
    }
    return true
  }
  precondition(hasEnded == (session.closed() == nil))
  return found
}

/// Everything that may become of a reply.
private func read(_ value: RESPValue) {
  _ = try? RedisReading(value)
  _ = try? RedisSwap(value)
  _ = try? value.primaryAddress()
  _ = try? value.acknowledgements()
}
