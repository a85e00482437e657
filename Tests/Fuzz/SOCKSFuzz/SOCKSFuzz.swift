import CFuzzer
import WayOut

@_cdecl("SOCKSFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

private struct Played {
  var sent: [[UInt8]] = []
  var end: SOCKS5.Step?
  var used = 0
}

/// The first byte says how the replies are cut, and whether there is a login. All at once, cut anywhere, or read by exact length,
/// the replies mean the same.
private func check(_ bytes: UnsafeRawBufferPointer) {
  guard let first = bytes.first else { return }
  let login = first & 1 == 0 ? nil : SOCKS5.Login(user: [0x75], password: [0x70])
  guard let client = try? SOCKS5(.name("a.test"), port: 443, login: login) else { preconditionFailure("a good name") }
  let replies = UnsafeRawBufferPointer(rebasing: bytes[1...])
  let whole = play(client, replies) { _ in replies.count }
  let cut = play(client, replies) { _ in 1 + Int(first >> 1) }
  let exact = play(client, replies, \.missing)
  for other in [cut, exact] {
    precondition(whole.sent == other.sent && whole.end == other.end)
    // What refuses is known before the reply is whole.
    precondition(whole.end != .open || whole.used == other.used)
  }
  precondition(whole.sent.count <= (login == nil ? 2 : 3))
  switch whole.end {
  // The greeting's answer, the login's, and the longest reply.
  case .open?: precondition(whole.used <= 2 + 2 + 262 && whole.sent.count == (login == nil ? 2 : 3))
  case .failed?, nil: break
  case .send?, .needMore?: preconditionFailure("no end")
  }
}

/// - Parameter size: of the next piece.
private func play(_ start: SOCKS5, _ replies: UnsafeRawBufferPointer, _ size: (SOCKS5) -> Int) -> Played {
  var client = start
  var played = Played()
  while played.used < replies.count {
    let end = min(replies.count, played.used + max(1, size(client)))
    let (count, step) = client.receive(UnsafeRawBufferPointer(rebasing: replies[played.used..<end]))
    precondition(count <= end - played.used)
    played.used += count
    switch step {
    case .needMore: precondition(played.used == end && client.missing > 0)
    case .send(let bytes): played.sent.append(bytes)
    case .open, .failed:
      precondition(client.missing == 0)
      played.sent.insert(start.greeting, at: 0)
      played.end = step
      return played
    }
  }
  played.sent.insert(start.greeting, at: 0)
  return played
}
