import RESP
import RedisProtocol
import Testing

struct RedisSessionTests {
  private static let channel = Array("authproxy:changed".utf8)
  private static let login = RedisLogin(user: "authproxy", password: Array("5ecret".utf8))
  private static let second: Int64 = 1_000_000_000

  static func hello(_ mode: String = "standalone", role: String? = "master", proto: Int = 3) -> String {
    let role = role.map { "$4\r\nrole\r\n+\($0)\r\n" } ?? "+none\r\n_\r\n"
    return "%5\r\n$7\r\nversion\r\n$6\r\n7.0.15\r\n$5\r\nproto\r\n:\(proto)\r\n$4\r\nmode\r\n+\(mode)\r\n\(role)"
      + "$7\r\nmodules\r\n*0\r\n"
  }
  private static let subscribed = ">3\r\n$9\r\nsubscribe\r\n$17\r\nauthproxy:changed\r\n:1\r\n"
  private static let counted = "*2\r\n$17\r\nauthproxy:changed\r\n:42\r\n"
  private static let greeting = hello() + subscribed + counted
  private static let server = RedisServer(version: "7.0.15", mode: .standalone, isPrimary: true, subscribers: 42)

  private static func change(_ key: String, in channel: String = "authproxy:changed") -> String {
    ">3\r\n$7\r\nmessage\r\n$\(channel.utf8.count)\r\n\(channel)\r\n$\(key.utf8.count)\r\n\(key)\r\n"
  }

  private static func events(_ session: inout RedisSession, _ text: String, now: Int64 = 0) -> [RedisSession.Event] {
    Array(text.utf8).withUnsafeBytes { session.receive($0, now: now) }
  }

  private static func begun(
    _ purpose: RedisSession.Purpose = .store(channel: channel), login: RedisLogin? = login, database: Int = 0
  ) -> RedisSession {
    var session = RedisSession(purpose, login: login, database: database, timeout: 2_000)
    session.begin(now: 0)
    return session
  }

  private static func ready() -> RedisSession {
    var session = begun()
    #expect(events(&session, greeting) == [.ready(server)])
    _ = session.takeOutput()
    return session
  }

  // MARK: The greeting

  @Test func `it says who it is, subscribes and counts in one write`() {
    var session = Self.begun(database: 2)
    #expect(
      String(decoding: session.takeOutput(), as: UTF8.self)
        == "*7\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$9\r\nauthproxy\r\n$6\r\n5ecret\r\n$7\r\nSETNAME\r\n$9\r\nauthproxy\r\n"
        + "*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n*2\r\n$9\r\nSUBSCRIBE\r\n$17\r\nauthproxy:changed\r\n"
        + "*3\r\n$6\r\nPUBSUB\r\n$6\r\nNUMSUB\r\n$17\r\nauthproxy:changed\r\n")
    #expect(!session.hasOutput)
    #expect(Self.events(&session, Self.hello() + "+OK\r\n" + Self.subscribed + Self.counted) == [.ready(Self.server)])
  }

  @Test func `without a login, and of a node or a Sentinel, it asks for less`() {
    var session = Self.begun(.node, login: nil, database: 2)
    #expect(
      String(decoding: session.takeOutput(), as: UTF8.self)
        == "*4\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$7\r\nSETNAME\r\n$9\r\nauthproxy\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\n")
    var sentinel = Self.begun(.sentinel, login: nil, database: 2)
    #expect(String(decoding: sentinel.takeOutput(), as: UTF8.self).contains("SELECT") == false)
    let event = RedisSession.Event.ready(RedisServer(version: "7.0.15", mode: .sentinel, isPrimary: false))
    #expect(Self.events(&sentinel, Self.hello("sentinel", role: nil)) == [event])
  }

  private static let refusals: [(name: String, bytes: String, failure: RedisFailure)] = [
    ("no login", "-NOAUTH HELLO must be called\r\n", .refused(RedisRefusal(.passwordMissing, code: "NOAUTH"))),
    ("a wrong one", "-WRONGPASS invalid\r\n", .refused(RedisRefusal(.passwordWrong, code: "WRONGPASS"))),
    ("no RESP3", "-NOPROTO unsupported\r\n", .refused(RedisRefusal(.protocolUnknown, code: "NOPROTO"))),
    ("no HELLO", "-ERR unknown command `HELLO`, with: `5ecret`\r\n", .refused(RedisRefusal(.protocolUnknown, code: "ERR"))),
    ("no room", "-ERR max number of clients reached\r\n", .refused(RedisRefusal(.tooManyClients, code: "ERR"))),
    ("a replica", hello(role: "replica"), .notPrimary), ("no role", hello(role: nil), .notPrimary),
    ("a Sentinel", hello("sentinel", role: nil), .wrongMode), ("another protocol", hello(proto: 2), .unexpectedReply),
    ("an unknown mode", hello("other"), .unexpectedReply), ("a RESP2 array", "*2\r\n$5\r\nproto\r\n:3\r\n", .unexpectedReply),
    ("a text", "+OK\r\n", .unexpectedReply), ("HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", .malformed(.unknownType(0x48))),
    ("no permission for the channel", hello() + "-NOPERM no\r\n", .refused(RedisRefusal(.permissionMissing, code: "NOPERM"))),
    ("a subscription as with RESP2", hello() + "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n", .unexpectedReply),
    ("another count", hello() + subscribed + "*2\r\n$1\r\na\r\n:42\r\n", .unexpectedReply),
    ("a count below zero", hello() + subscribed + "*2\r\n$17\r\nauthproxy:changed\r\n:-1\r\n", .unexpectedReply),
    ("a subscription too early", subscribed, .unexpectedReply),
    ("a server that is loading", hello() + subscribed + "-LOADING wait\r\n", .refused(RedisRefusal(.loading, code: "LOADING"))),
  ]

  @Test func `what is no greeting ends it, at every split`() {
    for (name, bytes, failure) in Self.refusals {
      var whole = Self.begun()
      #expect(Self.events(&whole, bytes + "+OK\r\n") == [.ended(failure)], "\(name)")
      #expect(Self.events(&whole, "+OK\r\n") == [], "\(name)")
      #expect(whole.deadline == nil && whole.closed() == nil, "\(name)")
      var pieces = Self.begun()
      #expect(bytes.utf8.flatMap { Self.events(&pieces, String(UnicodeScalar($0))) } == [.ended(failure)], "\(name)")
      #expect(!"\(failure)".contains("5ecret"))
    }
    var sentinel = Self.begun(.sentinel)
    #expect(Self.events(&sentinel, Self.hello()) == [.ended(.wrongMode)])
  }

  /// Each node of a cluster answers for its own records, and redirects for others: a replica, too.
  @Test func `a cluster's replica may be the first connection`() {
    var session = Self.begun()
    let events = Self.events(&session, Self.hello("cluster", role: "replica") + Self.subscribed + Self.counted)
    #expect(events == [.ready(RedisServer(version: "7.0.15", mode: .cluster, isPrimary: false, subscribers: 42))])
  }

  @Test func `a version is shortened, and only of visible characters`() {
    var session = Self.begun(.node)
    let version = "7.0\u{1b}[31m\n" + String(repeating: "x", count: 100)
    let hello = Self.hello().replacing("$6\r\n7.0.15", with: "$\(version.utf8.count)\r\n\(version)")
    guard case .ready(let server)? = Self.events(&session, hello).first else {
      Issue.record("not ready")
      return
    }
    #expect(server.version.hasPrefix("7.0[31mxxx") && server.version.count < 33)
  }

  // MARK: Commands

  @Test func `replies belong to commands in order, with changes between them, at every split`() {
    var session = Self.ready()
    let tickets = (0..<3).map { session.send(.read([UInt8($0)]), now: 0) }
    let bytes =
      Self.change("a") + ":1\r\n" + Self.change("b") + Self.change("other", in: "else") + "-OOM no\r\n"
      + "|1\r\n+a\r\n+b\r\n+x\r\n"
      + ">1\r\n+invalidate\r\n" + ">0\r\n" + Self.change("c")
    let expected: [RedisSession.Event] = [
      .changed(key: [0x61]), .replied(tickets[0], .integer(1)), .changed(key: [0x62]),
      .refused(tickets[1], RedisRefusal(.outOfMemory, code: "OOM")), .replied(tickets[2], .simple([0x78])),
      .changed(key: [0x63]),
    ]
    let start = session
    for cut in 0...bytes.utf8.count {
      var session = start
      let pieces = [bytes.utf8.prefix(cut), bytes.utf8.dropFirst(cut)]
      #expect(pieces.flatMap { Self.events(&session, String($0) ?? "") } == expected, "\(cut)")
      #expect(session.deadline == nil)
    }
  }

  @Test(arguments: ["READONLY", "LOADING", "MASTERDOWN", "NOAUTH"])
  func `errors after which the server is of no use end the connection`(code: String) {
    var session = Self.ready()
    let ticket = session.send(.read([]), now: 0)
    _ = session.send(.read([]), now: 0)
    let refusal = RedisRefusal(RESPError(Array("\(code) x".utf8)))
    #expect(Self.events(&session, "-\(code) x\r\n:1\r\n") == [.refused(ticket, refusal), .ended(.refused(refusal))])
    // Events may still be delivered while somebody sends.
    _ = session.takeOutput()
    _ = session.send(.read([]), now: 0)
    #expect(!session.hasOutput)
  }

  @Test(arguments: ["OOM", "NOPERM", "MOVED 1 a:1", "ASK 1 a:1", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF", "ERR"])
  func `others do not`(code: String) {
    var session = Self.ready()
    let ticket = session.send(.read([]), now: 0)
    let refusal = RedisRefusal(RESPError(Array(code.utf8)))
    #expect(Self.events(&session, "-\(code)\r\n") == [.refused(ticket, refusal)])
    #expect(session.deadline == nil)
  }

  @Test func `replies that nobody asked for end the connection`() {
    var session = Self.ready()
    #expect(Self.events(&session, ":1\r\n") == [.ended(.unexpectedReply)])
    session = Self.ready()
    #expect(Self.events(&session, "-NOAUTH x\r\n") == [.ended(.refused(RedisRefusal(.passwordMissing, code: "NOAUTH")))])
    session = Self.ready()
    #expect(Self.events(&session, Self.subscribed) == [.ended(.unexpectedReply)])
  }

  @Test func `a command with ASK has one reply`() {
    var session = Self.ready()
    let ticket = session.send(.read([0x61]), asking: true, now: 0)
    #expect(String(decoding: session.takeOutput(), as: UTF8.self).hasPrefix("*1\r\n$6\r\nASKING\r\n*4\r\n$4\r\nEVAL\r\n"))
    #expect(Self.events(&session, "+OK\r\n:1\r\n") == [.replied(ticket, .integer(1))])
  }

  // MARK: Time

  @Test func `the greeting has one time limit`() {
    var session = Self.begun()
    #expect(session.deadline == 2 * Self.second)
    #expect(Self.events(&session, Self.hello(), now: Self.second) == [])
    #expect(session.deadline == 2 * Self.second)
    #expect(session.expired(now: 2 * Self.second - 1) == nil)
    #expect(session.expired(now: 2 * Self.second) == .ended(.connectTimeout(milliseconds: 2_000)))
    #expect(session.expired(now: 9 * Self.second) == nil)
  }

  @Test func `a reply's time begins when it is the next one, and pieces do not prolong it`() {
    var session = Self.ready()
    #expect(session.deadline == nil)
    let first = session.send(.read([]), now: 10 * Self.second)
    _ = session.send(.read([]), now: 10 * Self.second)
    #expect(session.deadline == 12 * Self.second)
    #expect(Self.events(&session, "$9\r\n12", now: 11 * Self.second) == [])
    #expect(session.deadline == 12 * Self.second)
    session = Self.ready()
    let one = session.send(.read([]), now: 10 * Self.second)
    _ = session.send(.read([]), now: 10 * Self.second)
    #expect(one == first)
    #expect(Self.events(&session, ":1\r\n", now: 11 * Self.second) == [.replied(one, .integer(1))])
    #expect(session.deadline == 13 * Self.second)
    #expect(Self.events(&session, Self.change("a"), now: 12 * Self.second) == [.changed(key: [0x61])])
    #expect(session.deadline == 13 * Self.second)
    #expect(session.expired(now: 13 * Self.second) == .ended(.replyTimeout(milliseconds: 2_000)))
  }

  @Test func `a closed connection is an end once`() {
    var session = Self.ready()
    #expect(session.closed() == .ended(.closed))
    #expect(session.closed() == nil)
  }

  @Test func `thousands of commands in line are paired`() {
    var session = Self.ready()
    var next: RedisSession.Ticket = 1
    for round in 0..<20 {
      for _ in 0..<500 { _ = session.send(.wait(replicas: 1, milliseconds: 1), now: 0) }
      for _ in 0..<(round == 19 ? 500 * 20 - 19 * 400 : 400) {
        #expect(Self.events(&session, ":1\r\n") == [.replied(next, .integer(1))])
        next += 1
      }
    }
    #expect(session.deadline == nil)
  }
}

struct RedisReplyTests {
  private func array(_ values: RESPValue...) -> RESPValue { .array(values) }
  private let one = RESPValue.bulk([0x31])

  @Test func `readings and swaps are taken apart, and nothing else is one`() throws {
    let time = RedisTime(microseconds: 1_000_001)
    #expect(try RedisReading(array(.bulk([7]), one, one)) == RedisReading(record: [7], time: time))
    #expect(try RedisReading(array(.null, one, one)) == RedisReading(record: nil, time: time))
    #expect(try RedisSwap(array(.integer(1), .null, one, one)) == .swapped(time))
    #expect(try RedisSwap(array(.integer(0), .bulk([7]), one, one)) == .differs(RedisReading(record: [7], time: time)))
    let bad: [RESPValue] = [
      .null, one, array(), array(one, one), array(.integer(1), one, one), array(one, one, .null), array(one, one, .bulk([])),
      array(one, one, .bulk(Array("1000000".utf8))), array(one, .bulk(Array("-1".utf8)), one),
      array(one, .bulk(Array("9223372036854775807".utf8)), one),
      array(one, .bulk(Array("9223372036854".utf8)), .bulk([0x2d, 0x31])),
      array(one, .bulk(Array("9223372036855".utf8)), one), .map([]),
    ]
    for value in bad {
      #expect(throws: RedisFailure.unexpectedReply) { try RedisReading(value) }
      #expect(throws: RedisFailure.unexpectedReply) { try RedisSwap(value) }
    }
    for first in [RESPValue.integer(2), .boolean(true), one, .null] {
      #expect(throws: RedisFailure.unexpectedReply) { try RedisSwap(array(first, .null, one, one)) }
    }
  }

  @Test func `a Sentinel's answer is an address or nothing`() throws {
    let port = RESPValue.bulk(Array("6380".utf8))
    #expect(try array(.bulk(Array("10.0.0.1".utf8)), port).primaryAddress() == RedisNode(host: "10.0.0.1", port: 6380))
    #expect(try RESPValue.null.primaryAddress() == nil)
    for value in [
      one, array(one), array(.bulk([]), port), array(one, .bulk([0x30])), array(one, .integer(1)), array(one, one, one),
    ] {
      #expect(throws: RedisFailure.unexpectedReply) { try value.primaryAddress() }
    }
  }

  @Test func `a count of replicas is no other number`() throws {
    #expect(try RESPValue.integer(2).acknowledgements() == 2)
    for value in [RESPValue.integer(-1), one, .null] {
      #expect(throws: RedisFailure.unexpectedReply) { try value.acknowledgements() }
    }
  }

  @Test func `a login says nothing of itself`() {
    let login = RedisLogin(user: "u", password: Array("5ecret".utf8))
    var dumped = ""
    dump(login, to: &dumped)
    #expect(!"\(login)\(String(reflecting: login))\(dumped)".contains("5ecret") && !dumped.contains("53"))
  }

  @Test func `addresses are written as they are configured`() {
    #expect("\(RedisAddress.tcp(host: "a.test", port: 6379))" == "redis://a.test:6379")
    #expect("\(RedisAddress.tls(host: "::1", port: 1))" == "rediss://[::1]:1")
    #expect("\(RedisAddress.unix(path: "/run/x.sock"))" == "unix:/run/x.sock")
  }
}
