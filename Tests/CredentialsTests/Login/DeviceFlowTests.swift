import JSON
import Testing

@testable import Credentials

/// A device's login with a clock, a server and a log of its actions.
struct DeviceDriver {
  enum Stage: String, CaseIterable { case idle, discovering, requesting, waiting, polling, opening, writing, done }

  var flow: DeviceFlow
  var now: Int64 = 1_000_000
  var wall: Int64 = 1_800_000_000
  var log: [LoginAction] = []

  init(_ policy: OAuth2Policy = loginPolicy(isDevice: true), options: LoginOptions = .init()) {
    flow = DeviceFlow(name: "mailbox", policy: policy, options: options)
  }

  mutating func pass(_ milliseconds: Int64) {
    now += milliseconds
    wall += milliseconds / 1000
  }

  mutating func note(_ actions: [LoginAction]) -> [LoginAction] {
    log += actions
    return actions
  }

  @discardableResult
  mutating func start() -> [LoginAction] { note(flow.start(now: now, wall: wall)) }

  @discardableResult
  mutating func take(_ input: LoginInput) -> [LoginAction] { note(flow.handle(input, now: now, wall: wall)) }

  @discardableResult
  mutating func answer(_ answer: EndpointAnswer) -> [LoginAction] { take(.answer(fetch: log.ids.last ?? 0, answer)) }

  /// Advances to the next wake-up; false if there is none.
  @discardableResult
  mutating func wake() -> [LoginAction] {
    guard case .some(.some(let time)) = log.wake else { return [] }
    if time > now { pass(time - now) }
    return take(.timer)
  }

  static func codes(_ changes: [String: JSONValue?] = [:]) -> EndpointAnswer {
    var members: [String: JSONValue?] = [
      "device_code": .string(Hidden.deviceCode), "user_code": "WDJB-MJHT",
      "verification_uri": "https://login.example.com/device",
      "expires_in": .integer(900), "interval": .integer(5),
    ]
    members.merge(changes) { $1 }
    return .ok(json(members))
  }

  static func tokens(_ changes: [String: JSONValue?] = [:]) -> EndpointAnswer {
    var members: [String: JSONValue?] = [
      "access_token": .string(Hidden.accessToken), "refresh_token": .string(Hidden.refreshToken), "token_type": "Bearer",
      "expires_in": .integer(3600), "id_token": .string(jwt(claims())),
    ]
    members.merge(changes) { $1 }
    return .ok(json(members))
  }

  mutating func reach(_ stage: Stage, _ codes: EndpointAnswer = DeviceDriver.codes()) {
    if stage == .idle { return }
    start()
    if stage == .discovering { return }
    answer(.ok(metadata()))
    if stage == .requesting { return }
    answer(codes)
    if stage == .waiting { return }
    wake()
    if stage == .polling { return }
    answer(Self.tokens())
    if stage == .opening { return }
    take(.storeOpened(subject: nil))
    if stage == .writing { return }
    take(.stored)
  }
}

@Suite("A login on another device, state by state")
struct DeviceFlowTests {
  private static let inputs = [
    "answer", "stale", "timedOut", "callback", "pasted", "opened", "openedOther", "stored", "storeFailed", "early", "due",
    "late",
  ]

  private static func stage(of driver: DeviceDriver) -> DeviceDriver.Stage {
    switch driver.flow.state {
    case .idle: .idle
    case .discovering: .discovering
    case .requesting: .requesting
    case .waiting: .waiting
    case .polling: .polling
    case .storing: driver.log.stores.isEmpty ? .opening : .writing
    case .done: .done
    }
  }

  private static func input(_ name: String, _ driver: inout DeviceDriver) -> LoginInput {
    let latest = driver.log.ids.last ?? 0
    switch name {
    case "answer":
      let answers: [DeviceDriver.Stage: EndpointAnswer] = [.discovering: .ok(metadata()), .requesting: DeviceDriver.codes()]
      return .answer(fetch: latest, answers[stage(of: driver)] ?? DeviceDriver.tokens())
    case "stale": return .answer(fetch: latest + 7, DeviceDriver.tokens())
    case "timedOut": return .answer(fetch: latest, .failed(.timedOut))
    case "callback": return .callback(connection: 9, .init(method: "GET", target: Secret("/"), hosts: []))
    case "pasted": return .pasted(Secret("x"))
    case "opened": return .storeOpened(subject: "alice-17")
    case "openedOther": return .storeOpened(subject: "bob-3")
    case "stored": return .stored
    case "storeFailed": return .storeFailed("disk full")
    case "due":
      driver.pass(5_000)
      return .timer
    case "late":
      driver.pass(600_000)
      return .timer
    default: return .timer
    }
  }

  private static let table: [DeviceDriver.Stage: [String: String]] = [
    .idle: ["callback": "idle: page 400"],
    .discovering: [
      "answer": "requesting: fetch device", "timedOut": "done: finish 69", "callback": "discovering: page 400",
      "late": "done: cancel, finish 75",
    ],
    .requesting: [
      "answer": "waiting: note, print, print, note", "timedOut": "done: finish 69", "callback": "requesting: page 400",
      "late": "done: cancel, finish 75",
    ],
    .waiting: ["due": "polling: fetch token", "late": "done: finish 75", "callback": "waiting: page 400"],
    .polling: [
      "answer": "opening: openStore", "timedOut": "waiting: ", "late": "done: cancel, finish 75",
      "callback": "polling: page 400",
    ],
    .opening: [
      "opened": "writing: store", "openedOther": "done: closeStore, finish 77", "storeFailed": "done: finish 69",
      "callback": "opening: page 400",
    ],
    .writing: ["stored": "done: finish 0", "storeFailed": "done: finish 69", "callback": "writing: page 400"],
    .done: [:],
  ]

  @Test("every input in every state", arguments: DeviceDriver.Stage.allCases)
  func everyInput(stage: DeviceDriver.Stage) throws {
    for name in Self.inputs {
      var driver = DeviceDriver()
      driver.reach(stage)
      try #require(Self.stage(of: driver) == stage)
      let input = Self.input(name, &driver)
      let actions = driver.take(input)
      let outcome = "\(Self.stage(of: driver).rawValue): \(actions.words)"
      #expect(outcome == Self.table[stage]?[name] ?? "\(stage.rawValue): ", "\(stage.rawValue), \(name)")
    }
  }

  // MARK: The request

  @Test("the device request names the client, scope, resource and extra fields, with the client's authentication")
  func request() throws {
    let policy = loginPolicy(
      settings: .init(authorizationParameters: ["prompt": "consent", "scope": "evil"]), isDevice: true,
      authentication: .basic(secret: Secret("s")), resource: ["https://a.example"])
    var driver = DeviceDriver(policy)
    driver.reach(.requesting)
    let request = try #require(driver.log.requests.last)
    #expect(request.url == "https://login.example.com/device")
    #expect(
      request.form == ["client_id=my-app", "scope=openid offline_access", "resource=https://a.example", "prompt=consent"])
    #expect(request.fields.contains { $0.name == "Authorization" })
    driver.answer(DeviceDriver.codes())
    driver.wake()
    let poll = try #require(driver.log.requests.last)
    #expect(
      poll.form == [
        "grant_type=urn:ietf:params:oauth:grant-type:device_code", "device_code=\(Hidden.deviceCode)",
        "resource=https://a.example",
      ])
  }

  @Test("a server without device endpoint, and one that the configuration names")
  func endpoints() {
    let without = metadata(["device_authorization_endpoint": nil])
    var driver = DeviceDriver()
    driver.start()
    #expect(driver.answer(.ok(without)).requests.count == 1)
    #expect(driver.answer(.ok(without)).exit == .configuration)
    var named = DeviceDriver(loginPolicy(endpoints: .init(deviceAuthorization: "https://d.example/device"), isDevice: true))
    named.start()
    #expect(named.answer(.ok(without)).requests.map(\.url) == ["https://d.example/device"])
  }

  static let codes: [([String: JSONValue?], String?, LoginExit?)] = [
    ([:], "https://login.example.com/device", nil),
    (["verification_uri_complete": "https://l.example/d?c=WDJB-MJHT"], "https://l.example/d?c=WDJB-MJHT", nil),
    (["verification_uri_complete": ""], "https://login.example.com/device", nil),
    (["verification_uri": nil, "verification_url": "https://www.google.com/device"], "https://www.google.com/device", nil),
    (["verification_uri": "http://127.0.0.1:9/d"], "http://127.0.0.1:9/d", nil),
    (["verification_uri": "https://l.example/#/device"], "https://l.example/#/device", nil),
    (["verification_uri": nil], nil, .unavailable), (["verification_uri": "http://l.example/d"], nil, .refused),
    (["verification_uri": "javascript:alert(1)"], nil, .refused),
    (["verification_uri": "https://l.example/\u{1b}"], nil, .refused),
    (["verification_uri": "https://u:p@l.example/"], nil, .refused), (["user_code": nil], nil, .unavailable),
    (["user_code": ""], nil, .unavailable), (["user_code": "A\u{1b}[2J"], nil, .unavailable),
    (["user_code": .string(String(repeating: "A", count: 129))], nil, .unavailable), (["device_code": nil], nil, .unavailable),
    (["device_code": ""], nil, .unavailable), (["device_code": "a\n"], nil, .unavailable),
    (["error": "invalid_client"], nil, .refused),
  ]

  @Test("the URL and the code, each alone on a line of standard output", arguments: codes)
  func printed(changes: [String: JSONValue?], url: String?, exit: LoginExit?) {
    var driver = DeviceDriver()
    driver.reach(.waiting, DeviceDriver.codes(changes))
    #expect(driver.log.exit == exit)
    #expect(driver.log.printed == (url.map { [$0, "WDJB-MJHT"] } ?? []))
  }

  static let badAnswers: [(EndpointAnswer, LoginExit)] = [
    (.status(500), .unavailable), (.status(307), .unavailable), (.ok(bytes("<html>")), .unavailable),
    (.failed(.tooLarge), .unavailable), (.failed(.timedOut), .unavailable), (.refusal("unauthorized_client"), .refused),
    (.failed(.notTrusted("x")), .refused),
  ]

  @Test("a device endpoint that fails ends the login", arguments: badAnswers)
  func badAnswer(answer: EndpointAnswer, exit: LoginExit) {
    var driver = DeviceDriver()
    driver.reach(.waiting, answer)
    #expect(driver.log.exit == exit)
    #expect(driver.log.ends.first?.text.hasPrefix("device request: ") == true)
  }

  // MARK: Polls

  static let pending = EndpointAnswer.refusal("authorization_pending")
  static let slow = EndpointAnswer.refusal("slow_down")

  /// Interval of the server, answers to the polls, and the seconds before each poll.
  static let intervals: [(JSONValue?, [EndpointAnswer], [Int64])] = [
    (nil, [pending, pending], [5, 5, 5]), (.integer(0), [pending], [5, 5]), (.integer(-3), [pending], [5, 5]),
    ("x", [pending], [5, 5]), (.null, [pending], [5, 5]), (.integer(1), [pending, pending], [1, 1, 1]),
    (.integer(7), [pending], [7, 7]), ("7", [pending], [7, 7]),
    (.integer(5), [slow, pending, slow, pending], [5, 10, 10, 15, 15]), (.integer(1), [slow, pending], [1, 6, 6]),
    (.integer(5), [.failed(.timedOut), pending, pending], [5, 10, 10, 10]),
    (.integer(5), [.status(503), pending], [5, 10, 10]), (.integer(5), [.status(500), .status(502)], [5, 10, 20]),
    (.integer(5), [.failed(.unreachable("connection reset")), pending], [5, 10, 10]),
    (.integer(5), [.status(503, retryAfter: 30), pending], [5, 30, 10]), (.integer(5), [.status(503, retryAfter: 1)], [5, 10]),
    (.integer(5), [.status(429, retryAfter: 20), pending], [5, 20, 10]),
    (.integer(5), [.refusal("temporarily_unavailable")], [5, 10]),
    (.integer(5), [slow, .failed(.timedOut), slow, pending], [5, 10, 20, 25, 25]),
  ]

  @Test("the gaps between polls, each counted from the last reply", arguments: intervals)
  func gaps(interval: JSONValue?, answers: [EndpointAnswer], seconds: [Int64]) {
    var driver = DeviceDriver(options: .init(timeout: 3_600_000))
    driver.reach(.waiting, DeviceDriver.codes(["interval": interval]))
    var gaps: [Int64] = []
    for index in 0...answers.count {
      let before = driver.now
      #expect(driver.wake().requests.count == 1)
      gaps.append((driver.now - before) / 1000)
      // A slow reply does not shorten the next gap.
      driver.pass(2_000)
      if index < answers.count { driver.answer(answers[index]) }
    }
    #expect(gaps == seconds)
  }

  @Test("no timer makes a poll early")
  func early() {
    var driver = DeviceDriver()
    driver.reach(.waiting)
    driver.pass(4_999)
    #expect(driver.take(.timer).isEmpty)
    driver.pass(1)
    #expect(driver.take(.timer).requests.count == 1)
    #expect(driver.take(.timer).isEmpty)
  }

  @Test("a poll that never returns is cancelled and counts as a time-out")
  func lostPoll() {
    var driver = DeviceDriver()
    driver.reach(.polling)
    driver.pass(15_000)
    let actions = driver.take(.timer)
    #expect(actions.cancelled.count == 1)
    #expect(driver.flow.state == .waiting)
    #expect(driver.log.wake == .some(driver.now + 10_000))
  }

  static let ends: [(EndpointAnswer, LoginExit)] = [
    (.refusal("access_denied"), .refused), (.refusal("expired_token"), .timedOut), (.refusal("invalid_grant"), .refused),
    (.refusal("invalid_client"), .refused), (.refusal("something_new"), .refused), (.status(404), .unavailable),
    (.status(307), .unavailable), (.ok(bytes("<html>")), .unavailable), (.failed(.notTrusted("x")), .refused),
    (.failed(.tooLarge), .unavailable), (.ok(json(["error": "access_denied"])), .refused),
    (DeviceDriver.tokens(["id_token": .string(jwt(claims(["aud": "other"])))]), .refused),
    (DeviceDriver.tokens(["token_type": "mac"]), .unavailable),
  ]

  @Test("answers that end it, after which there is no poll", arguments: ends)
  func ending(answer: EndpointAnswer, exit: LoginExit) {
    var driver = DeviceDriver()
    driver.reach(.polling)
    #expect(driver.answer(answer).exit == exit)
    driver.pass(3_600_000)
    #expect(driver.take(.timer).isEmpty)
    #expect(driver.log.wake == .some(nil))
  }

  @Test("the code's end and --timeout end it without a further poll, also while one runs")
  func expiry() {
    for (lifetime, timeout, end) in [(60, 600_000, 60_000), (900, 30_000, 30_000)] as [(Int64, Int64, Int64)] {
      for polls in [true, false] {
        var driver = DeviceDriver(options: .init(timeout: timeout))
        let started = driver.now
        driver.reach(.waiting, DeviceDriver.codes(["expires_in": .integer(lifetime)]))
        if polls { driver.wake() }
        let before = driver.log.requests.count
        driver.pass(started + end - driver.now - 1)
        #expect(driver.take(.timer).exit == nil)
        if !polls { driver.answer(Self.pending) }
        let requests = driver.log.requests.count
        #expect(requests - before == (polls ? 0 : 1))
        driver.pass(1)
        let actions = driver.take(.timer)
        #expect(actions.exit == .timedOut)
        #expect(actions.requests.isEmpty)
      }
    }
  }

  @Test("success, also from servers that send no id_token to devices")
  func success() {
    for idToken in [true, false] {
      var driver = DeviceDriver()
      driver.reach(.polling)
      driver.answer(idToken ? DeviceDriver.tokens() : DeviceDriver.tokens(["id_token": nil]))
      let login = driver.take(.storeOpened(subject: nil)).stores.first
      #expect(login?.subject == (idToken ? "alice-17" : nil))
      #expect(driver.take(.stored).exit == .done)
    }
    var strict = DeviceDriver(loginPolicy(settings: .init(subject: "alice-17"), isDevice: true))
    strict.reach(.polling)
    strict.answer(DeviceDriver.tokens(["id_token": nil]))
    #expect(strict.take(.storeOpened(subject: nil)).exit == .refused)
  }
}
