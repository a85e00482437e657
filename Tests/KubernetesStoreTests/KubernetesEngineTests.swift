import Credentials
import Foundation
import JSON
import KubernetesStore
import Testing

/// Against Tests/Support/kubernetes_api.py.
@Suite(.timeLimit(.minutes(3))) struct KubernetesEngineTests {
  @Test func `records are read, written and replaced only if they are as expected`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.read().isAbsent)
    #expect(engine.swap("nothing", "a").conflict == .some(nil))
    #expect(engine.swap(nil, "a").isStored)
    #expect(engine.swap(nil, "b").conflict == .some("a"))
    #expect(engine.swap("x", "b").conflict == .some("a"))
    #expect(engine.swap("a", "b").isStored)
    #expect(engine.read().value == "b")
    #expect(try server.entry("one.x") == "b")
    // Who has its answer lost asks again.
    #expect(engine.swap("a", "b").isStored)
  }

  @Test func `everything else of the object stays, and the patch has its version`() throws {
    let server = try APIServerProcess(nil)
    try server.do([
      "do": "put", "name": "tokens", "data": ["theirs": "data"], "labels": ["app": "x"], "annotations": ["note": "y"],
    ])
    let engine = TestEngine(server)
    #expect(engine.swap(nil, "a").isStored)
    let state = try server.state
    let object = state["objects"]?["tokens"]
    #expect(state["data"]?["tokens"] == ["theirs": "data", "one.x": "a"])
    #expect(object?["metadata"]?["labels"] == ["app": "x"])
    #expect(object?["metadata"]?["annotations"] == ["note": "y"])
    guard case .array(let requests)? = state["requests"] else { throw APIServerProcess.Trouble(description: "\(state)") }
    let patch = try #require(requests.last { $0["verb"]?.string == "patch" }?["body"]?.string)
    #expect(patch.contains(#""metadata":{"resourceVersion":"#) && !patch.contains("theirs"))
  }

  @Test func `a change reaches the others, and the writer, within a second`() throws {
    let server = try APIServerProcess()
    let engines = (0..<3).map { _ in TestEngine(server) }
    for engine in engines { #expect(engine.connected()) }
    var last: String?
    for round in 0..<6 {
      let starts = engines.map(\.count)
      #expect(engines[round % 3].swap(last, "\(round)").isStored)
      last = "\(round)"
      for (engine, start) in zip(engines, starts) {
        #expect(engine.await(from: start, seconds: 1) { $0 == .changed(key: "one.x") } != nil)
        #expect(engine.read().value == last)
      }
    }
    // Nobody asked more than once for a connection.
    for engine in engines { #expect(engine.events.change { $0.count { $0 == .connected } } == 1) }
  }

  @Test func `another's record that has changed meanwhile is no conflict, and one's own is`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.connected())
    try server.set("rivals", .integer(5))
    #expect(engine.swap(nil, "a").isStored)
    #expect(try server.count("patch 409") == 5)
    #expect(try server.count("patch 200") == 1)
  }

  @Test func `of many writers at one object each success counts once`() throws {
    let server = try APIServerProcess()
    let engines = (0..<4).map { _ in TestEngine(server, timeout: 60_000) }
    let (successes, failures) = (Monitor(0), Monitor<[String]>([]))
    let done = Monitor(0)
    for (index, engine) in engines.enumerated() {
      Thread {
        for round in 0..<25 {
          // A record that all write, and one of its own.
          let key = round % 2 == 0 ? "count.x" : "own.\(index)"
          while true {
            let reading = engine.read(key)
            if let why = reading.failure { failures.change { $0.append(why) } }
            let value = reading.value.flatMap { Int($0) } ?? 0
            let reply = engine.swap(reading.value, "\(value + 1)", key: key)
            if let why = reply.failure { failures.change { $0.append(why) } }
            if reply.isStored { break }
          }
          successes.change { $0 += 1 }
        }
        done.change { $0 += 1 }
      }.start()
    }
    #expect(done.wait(120) { $0 == 4 ? true : nil } ?? false)
    #expect(failures.change { $0 } == [])
    #expect(successes.change { $0 } == 100)
    #expect(try server.entry("count.x") == "52")
    for index in 0..<4 { #expect(try server.entry("own.\(index)") == "12") }
    #expect(try server.count("patch 200") == 100)
    #expect(try server.count("patch 409") > 0, "they never met")
  }

  @Test func `a write whose answer is lost has failed, and what stands is known by reading`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.connected())
    try server.set("lost_answers", .integer(2))
    // libcurl may have sent it again: then it is a conflict with itself, which is none.
    let reply = engine.swap(nil, "a")
    #expect(reply.isStored || reply.failure != nil)
    #expect(engine.read().value == "a")
    #expect(engine.swap(nil, "a").isStored)
  }

  @Test func `the store's clock is the API server's Date`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    for skew in [0, 7_200, -7_200] as [Int64] {
      try server.set("skew", .integer(skew))
      let clock = try #require(engine.read().clock)
      let now = Int64(Date().timeIntervalSince1970 * 1_000)
      #expect(abs(clock - now - skew * 1_000) < 30_000, "\(clock - now)")
    }
    try server.set("skew", .null)
    #expect(engine.read().failure?.contains("has no Date") == true)
  }

  @Test func `reads that wait share one request that begins after them`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server)
    #expect(engine.connected())
    try server.set("delay", .number("0.3"))
    let before = try server.count("get 200")
    let replies = Monitor<[SealedRecord.Reply]>([])
    for _ in 0..<50 { engine.begin(.read(key: "one.x")) { reply in replies.change { $0.append(reply) } } }
    #expect(replies.wait(30) { $0.count == 50 ? true : nil } ?? false)
    #expect(replies.change { $0.allSatisfy { $0.value == "a" } })
    #expect(try server.count("get 200") - before <= 2)
  }

  @Test func `a stopped engine answers what waits, and says no more`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.connected())
    try server.set("delay", .number("1"))
    let replies = Monitor<[String?]>([])
    for command in [.read(key: "one.x"), TestEngine.swap(nil, "a"), TestEngine.swap(nil, "b", key: "two.x")] {
      engine.begin(command) { reply in replies.change { $0.append(reply.failure) } }
    }
    engine.stop()
    #expect(replies.wait { $0.count == 3 ? true : nil } ?? false)
    #expect(replies.change { $0 } == Array(repeating: "the proxy no longer uses this store", count: 3))
    #expect(engine.read().failure == "the proxy no longer uses this store")
    let count = engine.count
    try server.do(["do": "put", "name": "tokens", "data": ["one.x": "z"]])
    #expect(try eventually { try server.state["watches"]?.integer == 0 })
    #expect(engine.count == count)
  }
}
