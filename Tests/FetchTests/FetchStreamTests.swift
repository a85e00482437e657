import EventIO
import Fetch
import SmallHTTP
import Testing

/// Bodies that are passed on line by line.
@Suite(.timeLimit(.minutes(1))) struct FetchStreamTests {
  private struct Seen: Sendable {
    var began = 0
    var lines: [String] = []
    var outcome: HTTPFetch.Outcome?
  }

  /// - Parameter cancelsAt: the line at which the receiver cancels, and starts the fetch of another one.
  private func seen(_ body: String, status: Int = 200, limit: Int = 100, cancelsAt: Int? = nil) throws -> Seen {
    let socket = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    try socket.listen()
    let (server, executor, handover) = (LoopExecutor(), LoopExecutor(), Handover<Seen>())
    server.start()
    server.call { loop in
      HTTPServer(on: loop, socket: socket) { request, reply in
        reply(ServedAnswer(request.target == "/" ? status : 200, text: request.target == "/" ? body : "other"))
      }
    }
    let address = socket.address
    executor.start()
    executor.call { loop in
      let client = FetchClient(loop: loop)
      var seen = Seen()
      var transfer: FetchTransfer?
      func finish(_ outcome: HTTPFetch.Outcome) {
        seen.outcome = outcome
        handover.put(seen)
        withExtendedLifetime(client) {}
      }
      var fetch = HTTPFetch(url: "http://\(address)/", timeout: 20_000, limitBytes: 1_000)
      fetch.receive(
        into: FetchStream(
          lineLimit: limit, began: { seen.began += 1 },
          line: { line in
            seen.lines.append(String(decoding: line, as: UTF8.self))
            guard seen.lines.count == cancelsAt else { return }
            transfer?.cancel()
            client.start(HTTPFetch(url: "http://\(address)/other", timeout: 20_000, limitBytes: 1_000), under: nil) {
              finish($0)
            }
          }))
      transfer = client.start(fetch, under: nil) { finish($0) }
    }
    return handover.take()
  }

  @Test func `lines arrive one by one, and what is cut does not`() throws {
    let seen = try seen("one\n\nthree\ncut")
    #expect(seen.began == 1)
    #expect(seen.lines == ["one", "", "three"])
    #expect(try #require(seen.outcome).get().body == [])
  }

  @Test func `many lines, and long ones up to the limit`() throws {
    let lines = (0..<5_000).map { String(repeating: "x", count: $0 % 101) }
    let seen = try seen(lines.joined(separator: "\n") + "\n")
    #expect(seen.lines == lines)
  }

  @Test(arguments: [("\n", 0), ("", 0), ("short\n", 1)])
  func `a longer line is a failure, whether it ends or not`(end: String, before: Int) throws {
    let seen = try seen((before == 1 ? end : "") + String(repeating: "x", count: 101) + (before == 1 ? "" : end))
    #expect(seen.lines.count == before)
    guard case .failure(.tooLarge) = seen.outcome else {
      Issue.record("\(String(describing: seen.outcome))")
      return
    }
  }

  @Test func `another status has a body as any answer`() throws {
    let seen = try seen("an error\n", status: 403)
    #expect(seen.began == 0 && seen.lines == [])
    let answer = try #require(seen.outcome).get()
    #expect(answer.status == 403)
    #expect(String(decoding: answer.body, as: UTF8.self) == "an error\n")
  }

  @Test func `who gets a line may cancel, gets no more of them, and may ask for something else`() throws {
    let seen = try seen("one\ntwo\nthree\n", cancelsAt: 2)
    #expect(seen.lines == ["one", "two"])
    #expect(try #require(seen.outcome).get().body == Array("other".utf8))
  }
}
