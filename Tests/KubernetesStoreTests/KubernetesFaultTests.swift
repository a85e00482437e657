import Credentials
import Foundation
import JSON
import KubernetesStore
import Testing

/// What an API server does in bad hours, and a hostile one at any time.
@Suite(.timeLimit(.minutes(3))) struct KubernetesFaultTests {
  private static func hides(_ text: String?, _ token: String = APIServerProcess.token) -> Bool {
    text.map { !$0.contains(token) && !$0.contains("Bearer") } ?? false
  }

  @Test(arguments: ["end", "cut", "expire"]) func `a watch that ends goes on, and misses nothing`(how: String) throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.connected())
    var last: String?
    for round in 0..<2 {
      let start = engine.count
      if how == "expire" { try server.do(["do": "compact"]) }
      try server.do(["do": .string(how)])
      // Between two watches.
      let next = "\(how) \(round)"
      try server.do(["do": "put", "name": "tokens", "data": ["one.x": .string(next)]])
      #expect(engine.await(from: start) { $0 == .changed(key: "one.x") } != nil)
      #expect(engine.read().value == next)
      last = next
    }
    #expect(engine.swap(last, "z").isStored)
    // It was never out of reach.
    #expect(engine.events.change { $0.allSatisfy { if case .lost = $0 { false } else { true } } })
  }

  @Test func `a version that is forgotten is read anew, whichever way the server says it`() throws {
    let server = try APIServerProcess()
    let engine = TestEngine(server)
    #expect(engine.connected())
    for round in 0..<2 {
      let start = engine.count
      // The version that the watch goes on at is old once the server has compacted; odd ones get a status, even ones a line.
      try server.do(["do": "put", "name": "tokens", "data": ["one.x": .string("a\(round)")]])
      #expect(engine.await(from: start) { $0 == .changed(key: "one.x") } != nil)
      let middle = engine.count
      try server.do(["do": "compact"])
      try server.do(["do": "end"])
      try server.do(["do": "put", "name": "tokens", "data": ["one.x": .string("b\(round)")]])
      #expect(engine.await(from: middle) { $0 == .changed(key: "one.x") } != nil)
    }
  }

  @Test func `a token that was replaced is read again, and one that is refused again is told`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server)
    #expect(engine.connected())
    #expect(engine.tokenReads == 1)
    try server.rotate(to: "another-t0ken")
    #expect(engine.read().value == "a")
    #expect(engine.swap("a", "b").isStored)
    #expect(engine.tokenReads == 2)
    let start = engine.count
    try server.rotate(to: "third-t0ken", onlyServer: true)
    let why = engine.read().failure
    #expect(why?.contains("refuses the token (401)") == true && Self.hides(why, "t0ken"), "\(why ?? "")")
    #expect(engine.lost(from: start) == why)
    try server.rotate(to: "third-t0ken")
    #expect(engine.connected(from: start))
    #expect(engine.read().value == "b")
  }

  @Test(arguments: ["get", "watch", "patch"]) func `a missing right is named`(verb: String) throws {
    let server = try APIServerProcess()
    let rest: [JSONValue] = ["get", "watch", "patch"].filter { $0 != verb }.map { .string($0) }
    try server.set("verbs", .array(rest))
    let engine = TestEngine(server)
    let why: String?
    if verb == "patch" {
      why = engine.swap(nil, "a").failure
      #expect(engine.read().isAbsent)
    } else {
      why = engine.lost()
      // Who waits hears it as well.
      #expect(engine.read().failure == why)
    }
    #expect(why?.contains("may not \(verb) the Secret \"tokens\" in namespace \"apps\" (403)") == true, "\(why ?? "")")
    #expect(Self.hides(why))
    try server.set("verbs", ["get", "watch", "patch"] as JSONValue)
    #expect(engine.connected())
    #expect(engine.swap(nil, "a").isStored)
  }

  @Test func `429 is waited for if there is time, and else told`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server)
    #expect(engine.connected())
    for command in [SealedRecord.Command.read(key: "one.x"), TestEngine.swap("a", "b")] {
      try server.set("retry_after", .integer(1))
      try server.set("failures", .integer(1))
      let start = Date()
      let reply = engine.perform(command)
      #expect(reply.value == "a" || reply.isStored, "\(reply)")
      #expect(Date().timeIntervalSince(start) > 0.9)
    }
    try server.set("retry_after", .integer(40))
    try server.set("failures", .integer(1))
    let why = engine.read().failure
    #expect(why == "the API server has too much to do (429), and asks to wait 40 s")
    #expect(engine.events.change { $0 } == [.connected, .changed(key: "one.x")])
  }

  @Test func `a server that fails is out of reach until it works again`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server)
    #expect(engine.connected())
    try server.set("failure_status", .integer(503))
    try server.set("failures", .integer(1_000))
    #expect(engine.read().failure == "the API server fails (503)")
    #expect(engine.lost() == "the API server fails (503)")
    #expect(engine.read().failure == "the API server fails (503)")
    let count = engine.count
    try server.set("failures", .integer(0))
    #expect(engine.connected(from: count))
    #expect(engine.read().value == "a")
  }

  @Test func `a Secret that is not there, not any more, full or immutable is told as such`() throws {
    let server = try APIServerProcess(nil)
    let engine = TestEngine(server)
    #expect(engine.lost()?.contains("there is no Secret \"tokens\" in namespace \"apps\" (404)") == true)
    try server.do(["do": "put", "name": "tokens", "data": .null])
    #expect(engine.connected())
    #expect(engine.swap(nil, String(repeating: "x", count: 1_050_000)).failure?.contains("is full (1 MiB)") == true)
    #expect(engine.swap(nil, "a", key: "bad:key").failure?.contains("(422)") == true)
    #expect(engine.swap(nil, "a").isStored)
    let start = engine.count
    try server.do(["do": "delete", "name": "tokens"])
    #expect(engine.lost(from: start)?.contains("(404)") == true)
    try server.do(["do": "put", "name": "tokens", "data": .object([]), "immutable": true])
    #expect(engine.connected(from: start))
    #expect(engine.swap(nil, "b").failure?.contains("`immutable`") == true)
  }

  @Test(arguments: [
    ("garbage", "is not JSON"), ("other", "is not the Secret"), ("endless", "larger than a Secret"),
    ("huge", "larger than a Secret"), ("silent", "does not answer within 700 ms"), ("refuse", "Empty reply"),
  ])
  func `a lying, flooding or silent answer fails the command, and the engine survives it`(kind: String, text: String) throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server, timeout: 700)
    #expect(engine.connected())
    try server.set("hostile_get", .string(kind))
    let why = engine.read().failure
    #expect(why?.contains(text) == true && Self.hides(why), "\(why ?? "none")")
    #expect(engine.lost() != nil)
    let start = engine.count
    try server.set("hostile_get", .string("none"))
    #expect(engine.connected(from: start))
    #expect(try eventually { engine.read().value == "a" })
  }

  @Test(arguments: [
    ("garbage", "is no event"), ("other", "another object"), ("endless", "larger than a Secret"),
    ("flood", "more changes than a fleet makes"), ("blank", "more changes than a fleet makes"),
    ("silent", "does not answer within 700 ms"),
  ])
  func `a lying, flooding or silent watch is left, and tried again`(kind: String, text: String) throws {
    let server = try APIServerProcess(["one.x": "a"])
    try server.set("hostile_watch", .string(kind))
    let engine = TestEngine(server, timeout: 700)
    let why = engine.lost()
    #expect(why?.contains(text) == true && Self.hides(why), "\(why ?? "none")")
    try server.set("hostile_watch", .string("none"))
    let start = engine.count
    #expect(engine.connected(from: start))
    #expect(try eventually { engine.read().value == "a" })
  }

  @Test func `a server that has forgotten what it has just said is out of reach, and is asked after a pause`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let engine = TestEngine(server)
    #expect(engine.connected())
    let start = engine.count
    try server.set("hostile_watch", .string("gone"))
    try server.do(["do": "end"])
    let why = engine.lost(from: start)
    #expect(why?.contains("has forgotten the changes since (410)") == true, "\(why ?? "none")")
    try server.set("hostile_watch", .string("none"))
    #expect(engine.connected(from: start))
    #expect(engine.read().value == "a")
  }

  @Test func `without a token nothing is sent, and it is read again`() throws {
    let server = try APIServerProcess(["one.x": "a"])
    let path = server.folder + "/token"
    for bad in [nil, "", "two words", "line\nbreak"] as [String?] {
      try? FileManager.default.removeItem(atPath: path)
      if let bad { try bad.write(toFile: path, atomically: true, encoding: .utf8) }
      let engine = TestEngine(server)
      #expect(engine.lost()?.hasPrefix("its token cannot be read: ") == true)
      try "\(APIServerProcess.token)\n".write(toFile: path, atomically: true, encoding: .utf8)
      #expect(engine.connected())
      #expect(engine.read().value == "a")
    }
  }
}
