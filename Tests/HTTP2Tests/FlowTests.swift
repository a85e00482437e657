import HTTP2
import Testing

@Suite("Flow control")
struct FlowTests {
  static func body(_ count: Int) -> [UInt8] { [UInt8](repeating: 0x62, count: count) }

  @Test("gives the connection's window back on receipt, a stream's as its app drains")
  func slowApp() {
    let probe = ClientProbe()
    let slow = probe.get()
    _ = probe.get()
    probe.consumes = false
    probe.feed(.head(1, [(":status", "200")]))
    for _ in 0..<4 { probe.feed(.data(1, Self.body(16_384))) }
    _ = probe.seen()
    #expect(probe.frames() == [])
    // Another byte is more than the stream's window, and ends that stream only.
    probe.client.consumed(slow, 1000)
    #expect(probe.frames() == [])
    probe.client.consumed(slow, 40_000)
    #expect(probe.frames() == [.window(1, 41_000)])
    #expect(probe.client.body(of: slow).count == 65_536 - 41_000)
    probe.feed(.data(1, Self.body(16_384)), .data(1, Self.body(16_384)), .data(1, Self.body(16_384)))
    #expect(probe.frames() == [.reset(1, ErrorCode.flowControlError.rawValue)])
    #expect(probe.seen().last == .ended(1, .malformed(.flowControlError)))
    probe.feed(.head(3, [(":status", "200")]), .data(3, "fast", ends: true))
    #expect(probe.seen().last == .end(3))
  }

  /// Sends as much as the stream's window allows, read at once or not.
  private func fill(_ probe: ClientProbe, _ id: UInt32, window: inout Int) {
    while window > 0 {
      let count = min(window, 16_384)
      probe.feed(.data(id, Self.body(count)))
      window -= count
      _ = probe.seen()
    }
    for frame in probe.frames() where frame.kind == .windowUpdate && frame.stream == id { window += Int(frame.number) }
  }

  @Test("doubles the window of a stream whose app keeps up, up to 4 MiB")
  func growth() {
    let probe = ClientProbe()
    let ticket = probe.get()
    probe.feed(.head(1, [(":status", "200")]))
    var window = 65_536
    var largest = 0
    for _ in 0..<40 {
      fill(probe, 1, window: &window)
      largest = max(largest, window)
    }
    #expect(largest == 4 << 20)
    #expect(probe.session.failure == nil)
    probe.client.release(ticket)
  }

  @Test("lets all windows of a connection grow by 16 MiB in all, and gives growth back")
  func sharedGrowth() {
    let probe = ClientProbe()
    var tickets: [StreamTicket] = []
    func largest(_ id: UInt32) -> Int {
      probe.feed(.head(id, [(":status", "200")]))
      var window = 65_536
      var largest = 0
      for _ in 0..<12 {
        fill(probe, id, window: &window)
        largest = max(largest, window)
      }
      return largest
    }
    for index in 0..<6 {
      tickets.append(probe.get())
      let size = largest(UInt32(1 + 2 * index))
      // Four of them grow by 4 MiB less 64 KiB each; the rest is for a fifth.
      #expect(index < 4 ? size == 4 << 20 : size < 1 << 20, "\(index): \(size)")
    }
    probe.client.release(tickets[0])
    tickets.append(probe.get())
    #expect(largest(13) == 4 << 20)
  }

  private final class Budget: WindowBudget {
    var left: Int
    init(_ left: Int) { self.left = left }
    func takeForWindow(_ bytes: Int) -> Bool {
      guard bytes <= left else { return false }
      left -= bytes
      return true
    }
    func giveBackFromWindow(_ bytes: Int) { left += bytes }
  }

  @Test("takes the growth of windows from what all connections share, and gives it back with the stream or the connection")
  func budget() {
    let budget = Budget(300_000)
    do {
      let probe = ClientProbe(windows: budget)
      let ticket = probe.get()
      probe.feed(.head(1, [(":status", "200")]))
      var window = 65_536
      var largest = 0
      for _ in 0..<12 {
        fill(probe, 1, window: &window)
        largest = max(largest, window)
      }
      #expect(largest == 4 * 65_536 && budget.left == 300_000 - 3 * 65_536)
      probe.client.release(ticket)
      #expect(budget.left == 300_000)
      _ = probe.get()
      probe.feed(.head(3, [(":status", "200")]))
      window = 65_536
      for _ in 0..<12 { fill(probe, 3, window: &window) }
      #expect(budget.left < 300_000)
    }
    #expect(budget.left == 300_000)
  }

  @Test("holds 64 KiB of an upload, and asks for more when half of it is gone")
  func upload() {
    let probe = ClientProbe(settings: [(4, 100_000)])
    let ticket = probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||")
    #expect(probe.client.room(of: ticket) == 65_536)
    #expect(probe.append(Self.body(70_000), to: ticket) == 65_536)
    #expect(probe.client.room(of: ticket) == 0)
    // The connection's window is smaller.
    let sent = probe.frames().filter { $0.kind == .data }
    #expect(sent.map(\.payload.count).reduce(0, +) == 65_535)
    #expect(probe.client.holdsBody(of: ticket) && probe.client.lastWritten(of: ticket) == probe.now)
    #expect(probe.seen() == [.room(1)])
    #expect(probe.append(Self.body(4464), to: ticket) == 4464)
    probe.client.endBody(of: ticket)
    #expect(probe.frames() == [])
    probe.feed(.window(0, 100_000))
    probe.now += 5
    let rest = probe.frames()
    #expect(!probe.client.holdsBody(of: ticket) && probe.client.lastWritten(of: ticket) == probe.now)
    #expect(rest.map(\.payload.count).reduce(0, +) == 4465)
    #expect(rest.last?.ends == true)
  }

  @Test("waits for windows that became negative")
  func negative() {
    let probe = ClientProbe()
    let ticket = probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||")
    #expect(probe.append(Self.body(1000), to: ticket) == 1000)
    _ = probe.sentBytes()
    probe.feed(.settings([(4, 10)]))
    _ = probe.sentBytes()
    #expect(probe.append([1], to: ticket) == 1)
    #expect(probe.frames() == [])
    #expect(probe.client.holdsBody(of: ticket))
    probe.feed(.window(1, 990))
    #expect(probe.frames() == [])
    probe.feed(.window(1, 1))
    #expect(probe.frames() == [.data(1, [1])])
    #expect(!probe.client.holdsBody(of: ticket))
  }

  @Test("sends head and small body together, and trailers as HEADERS")
  func trailers() {
    for late in [false, true] {
      let probe = ClientProbe()
      let ticket = probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||")
      #expect(probe.append(Array("abc".utf8), to: ticket) == 3)
      var frames: [Frame] = late ? probe.frames() : []
      probe.endBody(of: ticket, trailers: "X-Sum: 5ecret\r\nConnection: x\r\n\r\n")
      frames += probe.frames()
      #expect(frames.map(\.kind) == [.headers, .data, .headers])
      #expect(frames.map(\.ends) == [false, false, true])
      _ = probe.decoder.decode(frames[0].payload)
      #expect(probe.decoder.decode(frames[2].payload) == [DecodedField(name: "x-sum", value: "5ecret", isNeverIndexed: true)])
    }
  }

  @Test("an empty body ends with an empty frame, an absent one with the head")
  func empty() {
    let probe = ClientProbe()
    let ticket = probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||")
    probe.client.endBody(of: ticket)
    #expect(probe.frames().map(\.ends) == [false, true])
    _ = probe.begin("POST / HTTP/1.1|Host: a||")
    #expect(probe.frames().map(\.ends) == [true])
  }

  @Test("streams share what is to be sent", arguments: [2048, 20_000, 300_000])
  func fair(buffer: Int) {
    let probe = ClientProbe(settings: [(4, 1 << 20)])
    probe.feed(.window(0, 1 << 20))
    let tickets = (0..<3).map { _ in probe.begin("POST / HTTP/1.1|Host: a|Transfer-Encoding: chunked||") }
    for ticket in tickets { #expect(probe.append(Self.body(60_000), to: ticket) == 60_000) }
    for ticket in tickets { probe.client.endBody(of: ticket) }
    let data = probe.frames(buffer: buffer).filter { $0.kind == .data }
    for ticket in tickets {
      #expect(data.filter { $0.stream == UInt32(ticket.id) }.map(\.payload.count).reduce(0, +) == 60_000)
    }
    // No stream is finished before each has begun.
    let firstEnd = data.firstIndex(where: \.ends)!
    #expect(Set(data[..<firstEnd].map(\.stream)).count == 3)
  }

  @Test("padding is credited, too")
  func padding() {
    let probe = ClientProbe()
    _ = probe.get()
    probe.feed(.head(1, [(":status", "200")]))
    for _ in 0..<200 {
      probe.feed(Frame(kind: .data, flags: 8, stream: 1, payload: [250, 1] + [UInt8](repeating: 0, count: 250)))
      _ = probe.seen()
    }
    #expect(probe.frames().contains { $0.kind == .windowUpdate && $0.stream == 1 })
  }
}
