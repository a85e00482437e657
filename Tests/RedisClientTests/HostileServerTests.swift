import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// Servers that do not do what a server does.
@Suite(.timeLimit(.minutes(2)))
struct HostileServerTests {
  private typealias Connection = ScriptedServer.Connection

  private static func refused(_ kind: RedisRefusal.Kind, _ code: String) -> RedisFailure {
    .refused(RedisRefusal(kind, code: code))
  }

  private static let ends: [(answer: String, failure: RedisFailure)] = [
    ("HTTP/1.1 400 Bad Request\r\n\r\n", .malformed(.unknownType(0x48))), ("-LOADING x\r\n", refused(.loading, "LOADING")),
    ("-MASTERDOWN x\r\n", refused(.primaryDown, "MASTERDOWN")), ("-READONLY x\r\n", refused(.readOnly, "READONLY")),
    ("-NOAUTH x\r\n", refused(.passwordMissing, "NOAUTH")), ("+OK\r\n", .unexpectedReply),
    ("*4\r\n:2\r\n_\r\n$1\r\n1\r\n$1\r\n1\r\n", .unexpectedReply),
    ("$999999999\r\n", .malformed(.tooLarge)), ("*?\r\n", .malformed(.streamed)), ("", .closed),
  ]

  /// Each of them is the first answer of a connection; the next one is good.
  @Test func `answers that end the connection are told, and the next connection is used`() throws {
    let count = Self.ends.count
    let server = try ScriptedServer { connection in
      guard connection.greet(), connection.read(until: "EVAL") != nil else { return }
      connection.send(connection.number < count ? Self.ends[connection.number].answer : Connection.reading("good"))
      if connection.number >= count { connection.awaitEnd() }
    }
    let store = TestStore(server.address)
    var seen = 0
    for (answer, failure) in Self.ends {
      _ = try #require(store.connected(from: seen))
      let found = store.swap(nil, [1]).failure
      let isRefusal = if case .refused = failure { true } else { false }
      #expect(found == RedisOperationFailure(failure, mayBeDone: !isRefusal), "\(answer): \(String(describing: found))")
      #expect(store.lost(from: seen) == failure)
      seen = store.count
    }
    #expect(try store.read().get().record == Array("good".utf8))
    // Somebody waited each time, and the shortest window is 0.2 s, of which `TestStore` picks the middle.
    let times = server.accepted.change { $0 }
    for (one, next) in zip(times, times.dropFirst()) { #expect(next.timeIntervalSince(one) > 0.09) }
  }

  @Test func `a greeting byte by byte, and replies so, are read`() throws {
    let server = try ScriptedServer { connection in
      guard connection.read(until: "NUMSUB") != nil else { return }
      for byte in (Connection.hello() + Connection.subscribed).utf8 { connection.send([byte]) }
      guard connection.read(until: "EVAL") != nil else { return }
      let change = ">3\r\n$7\r\nmessage\r\n$17\r\nauthproxy:changed\r\n$1\r\na\r\n"
      for byte in (change + Connection.reading("slow") + change).utf8 { connection.send([byte]) }
      connection.awaitEnd()
    }
    let store = TestStore(server.address)
    #expect(try store.read().get().record == Array("slow".utf8))
    #expect(store.events.wait { events in events.count { $0 == .changed(key: [0x61]) } == 2 ? true : nil } ?? false)
  }

  @Test func `a reply without an end is over at its limit or its time`() throws {
    let flood = try ScriptedServer { connection in
      guard connection.greet(), connection.read(until: "EVAL") != nil else { return }
      connection.send("+")
      while connection.send([UInt8](repeating: 0x61, count: 65_536)) {}
    }
    #expect(TestStore(flood.address).read().failure?.reason == .malformed(.tooLarge))
    let drip = try ScriptedServer { connection in
      guard connection.greet(), connection.read(until: "EVAL") != nil else { return }
      connection.send("+")
      while connection.send("a") { usleep(20_000) }
    }
    #expect(TestStore(drip.address, timeout: 2_000).read().failure?.reason == .replyTimeout(milliseconds: 2_000))
  }

  @Test func `pushes without an end do not hold the loop, nor prolong a command`() throws {
    let server = try ScriptedServer { connection in
      guard connection.greet() else { return }
      let change = Array(">3\r\n$7\r\nmessage\r\n$5\r\nother\r\n$1\r\na\r\n".utf8)
      let many = Array(repeating: change, count: 1_000).flatMap { $0 }
      while connection.send(many) {}
    }
    let store = TestStore(server.address, timeout: 2_000)
    _ = try #require(store.connected())
    let start = Date()
    #expect(store.read().failure?.reason == .replyTimeout(milliseconds: 2_000))
    #expect(Date().timeIntervalSince(start) < 15)
  }

  @Test func `a server that says nothing, and one that closes at once, are left in time`() throws {
    let silent = try ScriptedServer { $0.awaitEnd() }
    #expect(TestStore(silent.address, timeout: 300).lost() == .connectTimeout(milliseconds: 300))
    let closing = try ScriptedServer { _ in }
    let store = TestStore(closing.address, timeout: 3_000)
    #expect(store.lost() != nil)
    let start = Date()
    for _ in 0..<3 { #expect(store.read().failure != nil) }
    let attempts = closing.accepted.change { $0.count { $0 > start } }
    #expect(attempts <= Int(Date().timeIntervalSince(start)) + 3, "\(attempts)")
  }

  // MARK: Redirections

  @Test func `redirections are followed to other nodes, and ASK for one command only`() throws {
    let node = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster", isNode: true) else { return }
      while let command = connection.read(until: "EVAL") {
        let isAsking = command.contains("ASKING")
        connection.send((isAsking ? "+OK\r\n" : "") + Connection.reading(isAsking ? "asked" : "moved"))
      }
    }
    let port = node.port
    let first = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster") else { return }
      var count = 0
      while let command = connection.read(until: "EVAL") {
        count += 1
        let isOne = command.contains("authproxy:one")
        if isOne { connection.send("-MOVED 1 127.0.0.1:\(port)\r\n") }
        if !isOne { connection.send(count == 2 ? "-ASK 1 :\(port)\r\n" : Connection.reading("home \(count)")) }
      }
    }
    let store = TestStore(first.address)
    #expect(try store.read().get().record == Array("moved".utf8))
    #expect(try store.read("authproxy:two").get().record == Array("asked".utf8))
    #expect(try store.read("authproxy:two").get().record == Array("home 3".utf8))
    // It is known by now, and not asked for again.
    #expect(try store.read().get().record == Array("moved".utf8))
    #expect(node.accepted.change { $0.count } == 1)
    #expect(first.accepted.change { $0.count } == 1)
  }

  @Test func `a node that is gone is asked for again at the first one`() throws {
    let nodes = try (0..<2).map { number in
      try ScriptedServer { connection in
        guard connection.greet(mode: "cluster", isNode: true), connection.read(until: "EVAL") != nil else { return }
        connection.send(Connection.reading("node \(number)"))
        if number == 1 { connection.awaitEnd() }
      }
    }
    let ports = nodes.map(\.port)
    let first = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster") else { return }
      for port in ports {
        guard connection.read(until: "EVAL") != nil else { return }
        connection.send("-MOVED 1 127.0.0.1:\(port)\r\n")
      }
      connection.awaitEnd()
    }
    let store = TestStore(first.address)
    #expect(try store.read().get().record == Array("node 0".utf8))
    // It has closed after its answer; a command that meets its end fails, and the next one finds the other.
    let found = try eventually { (try? store.read().get())?.record == Array("node 1".utf8) }
    #expect(found)
  }

  @Test func `circles and places that nobody can go to end`() throws {
    let circle = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster", isNode: connection.number > 0) else { return }
      while connection.read(until: "EVAL") != nil { connection.send("-MOVED 1 :\(9)\r\n") }
    }
    // Port 9 has nobody.
    #expect(TestStore(circle.address).read().failure?.reason == .unreachable("Connection refused"))
    let own = Monitor<UInt16>(0)
    let itself = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster", isNode: connection.number > 0) else { return }
      while connection.read(until: "EVAL") != nil { connection.send("-MOVED 1 :\(own.change { $0 })\r\n") }
    }
    own.change { $0 = itself.port }
    #expect(TestStore(itself.address).read().failure?.reason == .tooManyRedirections)
    for target in ["127.0.0.1:0", "127.0.0.1", "a b:1", "/etc/passwd:1", ""] {
      let server = try ScriptedServer { connection in
        guard connection.greet(mode: "cluster"), connection.read(until: "EVAL") != nil else { return }
        connection.send("-MOVED 1 \(target)\r\n")
        connection.awaitEnd()
      }
      let failure = try #require(TestStore(server.address).swap(nil, [1]).failure)
      #expect(
        [.refused(RedisRefusal(.moved(nil), code: "MOVED")), .unreachable("the host's name is not known")].contains(
          failure.reason), "\(target): \(failure)")
      #expect(!failure.mayBeDone)
    }
  }

  @Test func `no password goes in clear to where a server beyond loopback is`() throws {
    for host in ["192.0.2.1", "8.8.8.8", "2001:db8::1", "0.0.0.0"] {
      let server = try ScriptedServer { connection in
        guard connection.greet(mode: "cluster"), connection.read(until: "EVAL") != nil else { return }
        connection.send("-MOVED 1 \(host):6379\r\n")
        connection.awaitEnd()
      }
      guard case .plaintextForbidden(let address)? = TestStore(server.address).read().failure?.reason else {
        Issue.record("\(host)")
        continue
      }
      #expect(address.contains(host))
    }
    #expect(TestStore(.tcp(host: "192.0.2.1", port: 1)).lost() == .plaintextForbidden("redis://192.0.2.1:1"))
  }

  @Test func `a cluster has no more nodes than a fleet needs connections`() throws {
    let ended = Monitor(0)
    let nodes = try (0..<20).map { number in
      try ScriptedServer { connection in
        guard connection.greet(mode: "cluster", isNode: true) else { return }
        while connection.read(until: "EVAL") != nil { connection.send(Connection.reading("node \(number)")) }
        ended.change { $0 += 1 }
      }
    }
    let ports = nodes.map(\.port)
    let first = try ScriptedServer { connection in
      guard connection.greet(mode: "cluster") else { return }
      for port in ports {
        guard connection.read(until: "EVAL") != nil else { return }
        connection.send("-MOVED 1 127.0.0.1:\(port)\r\n")
      }
      connection.awaitEnd()
    }
    let store = TestStore(first.address)
    for number in 0..<20 { #expect(try store.read("authproxy:\(number)").get().record == Array("node \(number)".utf8)) }
    // The first ones have made room.
    #expect(ended.wait { $0 >= 4 ? $0 : nil } == 4)
  }
}
