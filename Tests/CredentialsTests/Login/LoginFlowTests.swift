import JSON
import Testing

@testable import Credentials

@Suite("A login with a browser, state by state")
struct LoginFlowTests {
  private typealias Stage = LoginDriver.Stage

  /// Every input, by name.
  private static let inputs = [
    "answer", "stale", "timedOut", "listening", "cannotListen", "callback", "refusal", "foreign", "hostile", "favicon", "post",
    "pasted", "pastedCode", "blank", "noBrowser", "opened", "openedOther", "stored", "storeFailed", "early", "late",
  ]

  private static func input(_ name: String, _ driver: inout LoginDriver) -> LoginInput {
    let latest = driver.log.ids.last ?? 0
    switch name {
    case "answer":
      let answers: [LoginDriver.Stage: EndpointAnswer] = [
        .discovering: .ok(driver.document), .pushing: .ok(json(["request_uri": "urn:x"]), 201), .exchanging: driver.tokens(),
      ]
      return .answer(fetch: latest, answers[stage(of: driver)] ?? driver.tokens())
    case "stale": return .answer(fetch: latest + 7, driver.tokens())
    case "timedOut": return .answer(fetch: latest, .failed(.timedOut))
    case "listening": return .listening(port: 4711)
    case "cannotListen": return .cannotListen("127.0.0.1:4711: address already in use")
    case "callback": return driver.callbackInput(connection: 9)
    case "refusal": return driver.callbackInput("error=access_denied&state=\(driver.state)", connection: 9)
    case "foreign": return driver.callbackInput(driver.rightQuery + "&iss=https://evil.example", connection: 9)
    case "hostile": return driver.callbackInput("code=evil&state=guessed", connection: 9)
    case "favicon": return driver.callbackInput(connection: 9, path: "/favicon.ico")
    case "post": return driver.callbackInput(connection: 9, method: "POST")
    case "pasted": return .pasted(Secret("http://127.0.0.1:4711/callback?\(driver.rightQuery)"))
    case "pastedCode": return .pasted(Secret(Hidden.code))
    case "blank": return .pasted(Secret(" \r"))
    case "noBrowser": return .browserFailed("no such file")
    case "opened": return .storeOpened(subject: "alice-17")
    case "openedOther": return .storeOpened(subject: "bob-3")
    case "stored": return .stored
    case "storeFailed": return .storeFailed("disk full")
    case "late":
      driver.pass(600_000)
      return .timer
    default: return .timer
    }
  }

  private static func stage(of driver: LoginDriver) -> LoginDriver.Stage {
    switch driver.flow.state {
    case .idle: .idle
    case .discovering: .discovering
    case .binding: .binding
    case .pushing: .pushing
    case .waiting: .waiting
    case .exchanging: .exchanging
    case .storing: driver.log.stores.isEmpty ? .opening : .writing
    case .done: .done
    }
  }

  /// Next stage and actions; every other input changes nothing and causes no action.
  private static let table: [LoginDriver.Stage: [String: String]] = [
    .idle: [
      "callback": "idle: page 400", "refusal": "idle: page 400", "foreign": "idle: page 400", "hostile": "idle: page 400",
      "favicon": "idle: page 404", "post": "idle: page 405",
    ],
    .discovering: [
      "answer": "binding: listen", "timedOut": "done: finish 69", "callback": "discovering: page 400",
      "refusal": "discovering: page 400", "foreign": "discovering: page 400", "hostile": "discovering: page 400",
      "favicon": "discovering: page 404", "post": "discovering: page 405", "late": "done: cancel, finish 75",
    ],
    .binding: [
      "listening": "pushing: fetch par", "cannotListen": "done: finish 69", "callback": "binding: page 400",
      "refusal": "binding: page 400", "foreign": "binding: page 400", "hostile": "binding: page 400",
      "favicon": "binding: page 404", "post": "binding: page 405", "late": "done: finish 75",
    ],
    .pushing: [
      "answer": "waiting: note, print", "timedOut": "done: finish 69", "callback": "pushing: page 400",
      "refusal": "pushing: page 400", "foreign": "pushing: page 400", "hostile": "pushing: page 400",
      "favicon": "pushing: page 404", "post": "pushing: page 405", "late": "done: cancel, finish 75",
    ],
    .waiting: [
      "callback": "exchanging: fetch token", "refusal": "done: page 400, finish 77", "foreign": "done: page 400, finish 77",
      "hostile": "waiting: page 400", "favicon": "waiting: page 404", "post": "waiting: page 405",
      "pasted": "exchanging: fetch token", "pastedCode": "done: finish 77", "noBrowser": "waiting: note",
      "late": "done: finish 75",
    ],
    .exchanging: [
      "answer": "opening: openStore", "timedOut": "done: page 400, finish 69", "callback": "exchanging: page 400",
      "refusal": "exchanging: page 400", "foreign": "exchanging: page 400", "hostile": "exchanging: page 400",
      "favicon": "exchanging: page 404", "post": "exchanging: page 405", "late": "done: cancel, page 400, finish 69",
    ],
    .opening: [
      "opened": "writing: store", "openedOther": "done: closeStore, page 400, finish 77",
      "storeFailed": "done: page 400, finish 69", "callback": "opening: page 400", "refusal": "opening: page 400",
      "foreign": "opening: page 400", "hostile": "opening: page 400", "favicon": "opening: page 404",
      "post": "opening: page 405",
    ],
    .writing: [
      "stored": "done: page 200, finish 0", "storeFailed": "done: page 400, finish 69", "callback": "writing: page 400",
      "refusal": "writing: page 400", "foreign": "writing: page 400", "hostile": "writing: page 400",
      "favicon": "writing: page 404", "post": "writing: page 405",
    ],
    .done: [:],
  ]

  @Test("every input in every state", arguments: LoginDriver.Stage.allCases)
  func everyInput(stage: LoginDriver.Stage) throws {
    for name in Self.inputs {
      var driver = try LoginDriver()
      driver.reach(stage)
      try #require(Self.stage(of: driver) == stage)
      let input = Self.input(name, &driver)
      let actions = driver.take(input)
      let outcome = "\(Self.stage(of: driver).rawValue): \(actions.words)"
      #expect(outcome == Self.table[stage]?[name] ?? "\(stage.rawValue): ", "\(stage.rawValue), \(name)")
      #expect(driver.start().isEmpty || stage == .idle)
    }
  }

  // MARK: Up to the URL

  @Test("discovery, listener, pushed request, URL: each once, in this order, and the browser last")
  func wayToURL() throws {
    var driver = try LoginDriver(options: .init(browser: .start(program: "xdg-open"), readsLines: true))
    #expect(driver.start().requests.map(\.url) == [loginIssuer + "/.well-known/openid-configuration"])
    #expect(driver.answer(.ok(metadata())).requests.map(\.url) == [loginIssuer + "/.well-known/oauth-authorization-server"])
    let bound = driver.answer(.ok(driver.document))
    #expect(bound.listeners == [.init(host: .ipv4, port: nil)])
    let pushed = driver.take(.listening(port: 4711))
    #expect(pushed.requests.first?.url == "https://login.example.com/par")
    #expect(pushed.requests.first?.field("redirect_uri") == "http://127.0.0.1:4711/callback")
    let shown = driver.answer(.ok(json(["request_uri": "urn:x", "expires_in": .integer(60)]), 201))
    #expect(shown.words == "note, print, note, browser, note")
    let url = "https://login.example.com/authorize?client_id=my-app&request_uri=urn%3Ax"
    #expect(shown.printed == [url])
    #expect(shown.contains(.openBrowser(program: "xdg-open", url: url)))
    #expect(shown.notes.contains("The URL is valid for 60 seconds."))
  }

  @Test("without PAR the URL has the request, with the port that was bound")
  func withoutPAR() throws {
    var driver = try LoginDriver(document: metadata())
    driver.reach(.waiting)
    let url = try #require(driver.log.printed.first)
    #expect(url.contains("redirect_uri=http%3A%2F%2F127.0.0.1%3A4711%2Fcallback&state=\(driver.state)&code_challenge="))
    #expect(driver.log.requests.count == 2)
  }

  @Test("a token_url with explicit endpoints needs no discovery")
  func explicitEndpoints() throws {
    let policy = loginPolicy(
      issuer: nil, endpoints: .init(authorization: "https://login.example.com/a"), scope: "mail")
    var driver = try LoginDriver(policy)
    #expect(driver.start().words == "listen")
    driver.take(.listening(port: 4711))
    #expect(driver.log.printed.first?.hasPrefix("https://login.example.com/a?response_type=code") == true)
    driver.callback()
    let token = driver.log.requests.last
    #expect(token?.url == "https://login.example.com/token")
    driver.answer(driver.tokens(["id_token": nil]))
    driver.take(.storeOpened(subject: nil))
    #expect(driver.log.stores.first?.subject == nil)
    #expect(driver.take(.stored).ends.first?.text == "logged in to mailbox")
  }

  @Test("a redirect URI elsewhere needs no listener; the person pastes the answer")
  func pastedElsewhere() throws {
    let settings = LoginSettings(redirectURI: try RedirectURI("https://app.example/cb"))
    var driver = try LoginDriver(loginPolicy(settings: settings), document: metadata())
    driver.start()
    driver.answer(.ok(driver.document))
    let shown = driver.answer(.status(404))
    #expect(shown.words == "note, print, note")
    #expect(shown.notes.last == "Then paste the URL at which the browser ended, and press Enter:")
    let line = "https://app.example/cb?\(driver.rightQuery)"
    #expect(driver.take(.pasted(Secret(line))).requests.first?.field("redirect_uri") == "https://app.example/cb")
  }

  @Test(
    "PKCE with S256, or no login",
    arguments: [
      (.array(["plain"]), LoginExit.refused), (.array([]), .refused), (.array(["s256"]), .refused), (nil, nil),
      (.array(["plain", "S256"]), nil),
    ] as [(JSONValue?, LoginExit?)])
  func challengeMethods(methods: JSONValue?, exit: LoginExit?) throws {
    var driver = try LoginDriver(document: metadata(["code_challenge_methods_supported": methods]))
    driver.reach(.binding)
    #expect(driver.log.exit == exit)
    #expect((driver.flow.state == .binding) == (exit == nil))
  }

  @Test(
    "an endpoint in clear text is refused before a person sees a URL",
    arguments: ["authorization_endpoint", "token_endpoint", "pushed_authorization_request_endpoint"])
  func clearEndpoints(endpoint: String) throws {
    var driver = try LoginDriver(document: metadata([endpoint: "http://login.example.com/x"]))
    driver.reach(.waiting)
    #expect(driver.log.exit == .refused)
    #expect(driver.log.printed.isEmpty)
    #expect(driver.log.ends.first?.text.contains("\(endpoint) cannot be used: it is not https") == true)
  }

  @Test("a port in use is named")
  func portInUse() throws {
    var driver = try LoginDriver()
    driver.reach(.binding)
    let end = driver.take(.cannotListen("127.0.0.1:8080: Address already in use")).ends.first
    #expect(end?.exit == .unavailable)
    #expect(end?.text == "cannot listen for the browser's answer: 127.0.0.1:8080: Address already in use")
  }

  @Test(
    "hints for a browser elsewhere",
    arguments: [
      ("http://127.0.0.1/callback", true, "ssh -L 4711:127.0.0.1:4711 "),
      ("http://[::1]/callback", true, "ssh -L 4711:[::1]:4711 "),
      ("http://localhost/callback", false, "ssh -L 4711:127.0.0.1:4711 "),
    ])
  func remoteHints(redirectURI: String, hasDevice: Bool, hint: String) throws {
    let policy = loginPolicy(settings: .init(redirectURI: try RedirectURI(redirectURI)))
    let document = metadata(hasDevice ? [:] : ["device_authorization_endpoint": nil])
    var driver = try LoginDriver(policy, options: .init(browser: .none(isRemote: true)), document: document)
    driver.reach(.waiting)
    #expect(driver.log.notes.contains { $0.contains(hint) })
    #expect(driver.log.notes.contains { $0.contains("--device") } == hasDevice)
    #expect(driver.log.browsers.isEmpty)
  }

  // MARK: The answer

  @Test("the same answer three times at once spends the code once, and only the first gets the result")
  func threeAnswers() throws {
    var driver = try LoginDriver()
    driver.reach(.waiting)
    #expect(driver.callback(connection: 1).requests.count == 1)
    #expect(driver.callback(connection: 2).answered == [2: .alreadyReceived])
    #expect(driver.callback(connection: 3).answered == [3: .alreadyReceived])
    driver.answer(driver.tokens())
    driver.take(.storeOpened(subject: nil))
    let last = driver.take(.stored)
    #expect(last.answered.keys.sorted() == [1])
    #expect(driver.log.requests.filter { text($0.body.bytes).contains(Hidden.code) }.count == 1)
  }

  @Test(
    "no hostile request spends the code or ends the login, and the right answer then works", arguments: CallbackTests.queries)
  func hostile(query: String, decision: Callback.Decision) throws {
    guard decision == .notOurs else { return }
    var driver = try LoginDriver()
    driver.reach(.waiting)
    let before = driver.log.requests.count
    for connection in 1...3 as ClosedRange<UInt64> {
      #expect(driver.callback(query, connection: connection).answered == [connection: .notThisLogin])
    }
    #expect(driver.flow.state == .waiting)
    #expect(driver.log.requests.count == before)
    #expect(driver.callback().requests.first?.field("code") == Hidden.code)
  }

  @Test("the code goes to the token endpoint with redirect URI and verifier")
  func exchange() throws {
    var driver = try LoginDriver()
    driver.reach(.exchanging)
    let request = try #require(driver.log.requests.last)
    #expect(
      request.form == [
        "grant_type=authorization_code", "code=\(Hidden.code)", "redirect_uri=http://127.0.0.1:4711/callback",
        "code_verifier=\(text(driver.secrets.verifier.bytes))", "client_id=my-app",
      ])
  }

  @Test("a client assertion is added by the sender, as it may expire while a person logs in")
  func assertion() throws {
    var driver = try LoginDriver(loginPolicy(authentication: .clientAssertion(Secret("first"))))
    driver.reach(.waiting)
    let pushed = try #require(driver.log.requests.last)
    driver.callback()
    for request in [pushed, try #require(driver.log.requests.last)] {
      #expect(request.awaitsAssertion && request.field("client_assertion") == nil)
      #expect(request.field("client_assertion_type") == TokenRequest.assertionType)
      let sent = request.adding(clientAssertion: Secret("for+this"))
      #expect(!sent.awaitsAssertion && sent.field("client_assertion") == "for+this")
      #expect(text(sent.body.bytes) == text(request.body.bytes) + "&client_assertion=for%2Bthis")
    }
    let answer = EndpointAnswer.response(status: 400, retryAfter: 1, body: Secret("<for+this for+thi>"))
    #expect(
      answer.hiding(Secret("for+this")) == .response(status: 400, retryAfter: 1, body: Secret("<*** for+thi>")))
  }

  @Test("the server's error is shown without markup, control characters and state, in terminal and page")
  func serverError() throws {
    var driver = try LoginDriver()
    driver.reach(.waiting)
    let query = "error=access_denied&error_description=%3Cscript%3E%1b%5B31m\(driver.state)&state=\(driver.state)"
    let actions = driver.callback(query, connection: 4)
    #expect(actions.ends.first == LoginEnd(.refused, "the server answered: access_denied (<script>?[31m***)"))
    let page = text(actions.answered[4]?.body ?? [])
    #expect(page.contains("access_denied (&lt;script&gt;?[31m***)"))
  }

  @Test(
    "the server's errors and their exits",
    arguments: [
      ("access_denied", LoginExit.refused), ("invalid_scope", .refused), ("unauthorized_client", .refused),
      ("login_required", .refused), ("server_error", .unavailable), ("temporarily_unavailable", .unavailable),
    ])
  func errorExits(error: String, exit: LoginExit) throws {
    var driver = try LoginDriver()
    driver.reach(.waiting)
    #expect(driver.callback("error=\(error)&state=\(driver.state)").exit == exit)
  }

  @Test("nothing shows what a machine knows, or what an input brings")
  func redaction() throws {
    for stage in LoginDriver.Stage.allCases {
      var driver = try LoginDriver()
      driver.reach(stage)
      var dumped = ""
      dump(driver.flow, to: &dumped)
      dump(driver.callbackInput(), to: &dumped)
      dump(LoginInput.pasted(Secret(Hidden.code)), to: &dumped)
      dump(LoginInput.answer(fetch: 1, driver.tokens()), to: &dumped)
      for hidden in [Hidden.code, Hidden.accessToken, Hidden.refreshToken, text(driver.secrets.verifier.bytes)] {
        #expect(!dumped.contains(hidden))
      }
    }
  }

  // MARK: Times

  @Test("the person has until the time-out; after the answer only the request's own time-out counts")
  func timeouts() throws {
    var driver = try LoginDriver(options: .init(timeout: 60_000))
    let started = driver.now
    driver.reach(.waiting)
    #expect(driver.log.wake == .some(started + 60_000))
    driver.pass(59_999)
    #expect(driver.take(.timer).isEmpty)
    driver.callback()
    #expect(driver.log.wake == .some(driver.now + 15_000))
    driver.pass(14_999)
    #expect(driver.take(.timer).isEmpty)
    driver.pass(1)
    let actions = driver.take(.timer)
    #expect(actions.exit == .unavailable)
    #expect(actions.cancelled == [driver.log.ids.last ?? 0])
    #expect(driver.answer(driver.tokens()).isEmpty, "the late answer changes nothing")
    #expect(driver.log.stores.isEmpty)
  }

  @Test("nobody answers")
  func abandoned() throws {
    var driver = try LoginDriver(options: .init(timeout: 120_000))
    driver.reach(.waiting)
    driver.pass(120_000)
    #expect(driver.take(.timer).ends == [LoginEnd(.timedOut, "no answer within 2 minutes")])
    #expect(driver.log.wake == .some(nil))
    #expect(driver.callback().isEmpty)
  }
}
