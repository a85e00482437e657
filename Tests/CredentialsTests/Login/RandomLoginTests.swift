import Crypto
import JSON
import Testing

@testable import Credentials

@Suite("Whatever comes, the code is sent once, the login ends once, and no secret is shown")
struct RandomLoginTests {
  private static let choices = 18

  /// Values that no text may contain, in any encoding.
  private static func hidden(_ secrets: LoginSecrets?) -> [String] {
    var values = [Hidden.code, Hidden.accessToken, Hidden.refreshToken, Hidden.deviceCode, Hidden.clientSecret]
    if let secrets { values += [text(secrets.verifier.bytes)] }
    return values + values.map { text(Base64.encode(bytes($0))) } + values.map { text(Base64.encodeURL(bytes($0))) }
  }

  /// Everything that an action shows.
  private static func shown(_ action: LoginAction) -> [String] {
    var dumped = ""
    dump(action, to: &dumped)
    switch action {
    case .print(let line), .note(let line): return [line, dumped]
    case .answerBrowser(_, let page): return [text(page.body), "\(page.fields)", dumped]
    case .finish(let end): return [end.text, dumped]
    case .fetch(_, let request): return [request.url, "\(request)", dumped]
    default: return [dumped, "\(action)"]
    }
  }

  /// A right answer, or one of a server in trouble, which quotes what it got.
  private static func answer(
    _ right: EndpointAnswer, to request: TokenHTTPRequest?, _ random: inout SystemRandomNumberGenerator
  ) -> EndpointAnswer {
    let quoted = ["code", "code_verifier", "device_code", "client_secret"].compactMap { request?.field($0) }.joined(
      separator: " ")
    let others: [EndpointAnswer] = [
      .status(500), .status(307), .status(404), .status(503, retryAfter: 2), .ok(bytes("<html>")), .failed(.timedOut),
      .failed(.unreachable("reset")), .failed(.tooLarge), .refusal("invalid_grant", quoted), .refusal("access_denied", quoted),
      .refusal("slow_down"), .refusal("authorization_pending"), .refusal("server_error", quoted), .ok([]),
    ]
    return Int.random(in: 0..<3, using: &random) == 0 ? others.randomElement(using: &random) ?? right : right
  }

  private static func policy(_ random: inout SystemRandomNumberGenerator, isDevice: Bool) -> OAuth2Policy {
    loginPolicy(
      issuer: Bool.random(using: &random) ? loginIssuer : nil,
      endpoints: .init(authorization: "https://a.example/a", deviceAuthorization: "https://a.example/d"), isDevice: isDevice,
      authentication: Bool.random(using: &random) ? .none : .post(secret: Secret(Hidden.clientSecret)),
      scope: Bool.random(using: &random) ? "openid" : "mail")
  }

  @Test("a login with a browser")
  func browser() throws {
    var random = SystemRandomNumberGenerator()
    var exits: [LoginExit: Int] = [:]
    for _ in 0..<400 {
      let own = try #require(LoginSecrets(random: (0..<96).map { _ in UInt8.random(in: 0...255, using: &random) }))
      let document = metadata(
        Bool.random(using: &random) ? ["pushed_authorization_request_endpoint": "https://login.example.com/par"] : [:])
      var driver = try LoginDriver(
        Self.policy(&random, isDevice: false), options: .init(browser: .start(program: "b"), readsLines: true), secrets: own,
        document: document)
      driver.start()
      var steps = 0
      var open: Set<UInt64> = []
      while driver.log.ends.isEmpty, steps < 400 {
        steps += 1
        driver.pass(Int64.random(in: 0..<3_000, using: &random))
        let connection = UInt64(steps)
        let input = Self.input(&driver, connection: connection, &random)
        if case .callback = input { open.insert(connection) }
        let actions = driver.take(input)
        for answered in actions.answered.keys {
          #expect(open.remove(answered) != nil, "each request is answered once")
        }
      }
      #expect(driver.log.ends.count == 1, "it ends: \(driver.flow.state)")
      #expect(open.isEmpty)
      let sent = driver.log.requests.filter { $0.field("code") != nil }
      #expect(sent.count <= 1)
      #expect(sent.allSatisfy { $0.field("code") == Hidden.code && $0.url == "https://login.example.com/token" })
      let exit = try #require(driver.log.exit)
      exits[exit, default: 0] += 1
      #expect(exit != .done || driver.log.stores.count == 1)
      for _ in 0..<5 {
        let input = Self.input(&driver, connection: 1_000, &random)
        #expect(driver.take(input).isEmpty)
      }
      let hidden = Self.hidden(own)
      for action in driver.log {
        for shown in Self.shown(action) {
          for value in hidden { #expect(!shown.contains(value), "\(action.word)") }
        }
      }
    }
    #expect(exits[.done, default: 0] > 5 && exits[.refused, default: 0] > 5 && exits[.unavailable, default: 0] > 5)
  }

  private static func input(
    _ driver: inout LoginDriver, connection: UInt64, _ random: inout SystemRandomNumberGenerator
  ) -> LoginInput {
    let latest = driver.log.ids.last ?? 0
    let state = driver.state
    switch Int.random(in: 0..<choices, using: &random) {
    case 0: return .listening(port: driver.port)
    case 1: return Int.random(in: 0..<20, using: &random) == 0 ? .cannotListen("in use") : .listening(port: driver.port)
    case 2: return driver.callbackInput(connection: connection)
    case 3:
      let queries = [
        "error=access_denied&error_description=\(state)&state=\(state)", driver.rightQuery + "&iss=https://evil.example",
      ]
      return driver.callbackInput(
        Int.random(in: 0..<6, using: &random) == 0 ? queries.randomElement(using: &random) : "x", connection: connection)
    case 4: return driver.callbackInput(CallbackTests.queries.randomElement(using: &random)?.0, connection: connection)
    case 5:
      let noise = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random) }
      return .callback(
        connection: connection, .init(method: "GET", target: Secret(bytes("/callback?") + noise), hosts: ["127.0.0.1:4711"]))
    case 6: return Int.random(in: 0..<8, using: &random) == 0 ? .pasted(Secret(Hidden.code)) : .pasted(Secret(" "))
    case 7: return .pasted(Secret("http://127.0.0.1:4711/callback?\(driver.rightQuery)"))
    case 8: return .browserFailed("no such file")
    case 9: return .storeOpened(subject: [nil, nil, "alice-17", "bob-3"].randomElement(using: &random) ?? nil)
    case 10: return .stored
    case 11: return Int.random(in: 0..<6, using: &random) == 0 ? .storeFailed("disk full") : .stored
    case 12: return .answer(fetch: latest + 1, driver.tokens())
    case 13, 14: return .timer
    default:
      let right: EndpointAnswer =
        switch driver.flow.state {
        case .discovering: .ok(driver.document)
        case .pushing: .ok(json(["request_uri": "urn:x"]), 201)
        default: driver.tokens()
        }
      return .answer(fetch: latest, answer(right, to: driver.log.requests.last, &random))
    }
  }

  @Test("a login on another device")
  func device() throws {
    var random = SystemRandomNumberGenerator()
    var exits: [LoginExit: Int] = [:]
    for _ in 0..<400 {
      var driver = DeviceDriver(Self.policy(&random, isDevice: true))
      driver.start()
      var steps = 0
      while driver.log.ends.isEmpty, steps < 2_000 {
        steps += 1
        driver.pass(Int64.random(in: 0..<6_000, using: &random))
        switch Int.random(in: 0..<8, using: &random) {
        case 0: driver.take(.storeOpened(subject: [nil, "alice-17", "bob-3"].randomElement(using: &random) ?? nil))
        case 1: driver.take(.stored)
        case 2: driver.take(Int.random(in: 0..<8, using: &random) == 0 ? .storeFailed("disk full") : .timer)
        case 3: driver.take(.answer(fetch: (driver.log.ids.last ?? 0) + 1, DeviceDriver.tokens()))
        case 4, 5: driver.take(.timer)
        default:
          let right: EndpointAnswer =
            switch driver.flow.state {
            case .discovering: .ok(metadata())
            case .requesting: DeviceDriver.codes()
            default: DeviceDriver.tokens()
            }
          driver.answer(Self.answer(right, to: driver.log.requests.last, &random))
        }
      }
      #expect(driver.log.ends.count == 1, "it ends: \(driver.flow.state)")
      let exit = try #require(driver.log.exit)
      exits[exit, default: 0] += 1
      #expect(exit != .done || driver.log.stores.count == 1)
      #expect(driver.take(.timer).isEmpty && driver.answer(DeviceDriver.tokens()).isEmpty)
      let hidden = Self.hidden(nil)
      for action in driver.log {
        for shown in Self.shown(action) {
          for value in hidden { #expect(!shown.contains(value), "\(action.word)") }
        }
      }
    }
    #expect(exits[.done, default: 0] > 5 && exits[.refused, default: 0] > 5 && exits[.unavailable, default: 0] > 5)
  }
}
