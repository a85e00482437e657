import JSON
import Testing

@testable import Credentials

/// A login machine with a clock, a server and a log of its actions.
struct LoginDriver {
  enum Stage: String, CaseIterable { case idle, discovering, binding, pushing, waiting, exchanging, opening, writing, done }

  var flow: LoginFlow
  let secrets: LoginSecrets
  var now: Int64 = 1_000_000
  var wall: Int64 = 1_800_000_000
  var log: [LoginAction] = []
  /// The document that `reach` answers with.
  var document: [UInt8]
  let port: UInt16 = 4711

  init(
    _ policy: OAuth2Policy = loginPolicy(), options: LoginOptions = .init(), secrets: LoginSecrets? = nil,
    dpopKey: DPoPKey? = nil,
    document: [UInt8] = metadata(["pushed_authorization_request_endpoint": "https://login.example.com/par"])
  ) throws {
    self.secrets = try secrets ?? LoginSecrets.sample()
    self.document = document
    flow = LoginFlow(name: "mailbox", policy: policy, options: options, secrets: self.secrets, dpopKey: dpopKey)
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

  /// Answers the latest fetch.
  @discardableResult
  mutating func answer(_ answer: EndpointAnswer) -> [LoginAction] { take(.answer(fetch: log.ids.last ?? 0, answer)) }

  @discardableResult
  mutating func callback(_ query: String? = nil, connection: UInt64 = 1) -> [LoginAction] {
    take(callbackInput(query, connection: connection))
  }

  var state: String { text(secrets.state.bytes) }
  var rightQuery: String { "code=\(Hidden.code)&state=\(state)" }

  func callbackInput(
    _ query: String? = nil, connection: UInt64 = 1, path: String = "/callback", method: String = "GET"
  ) -> LoginInput {
    let target = Secret("\(path)?\(query ?? rightQuery)")
    return .callback(connection: connection, .init(method: method, target: target, hosts: ["127.0.0.1:\(port)"]))
  }

  func tokens(_ changes: [String: JSONValue?] = [:], claims more: [String: JSONValue?] = [:]) -> EndpointAnswer {
    var members: [String: JSONValue?] = [
      "access_token": .string(Hidden.accessToken), "refresh_token": .string(Hidden.refreshToken), "token_type": "Bearer",
      "expires_in": .integer(3600),
    ]
    var named: [String: JSONValue?] = ["nonce": .string(text(secrets.nonce.bytes))]
    named.merge(more) { $1 }
    members["id_token"] = .string(jwt(claims(named)))
    members.merge(changes) { $1 }
    return .ok(json(members))
  }

  /// Goes from the start to a stage, with right answers.
  mutating func reach(_ stage: Stage) {
    if stage == .idle { return }
    start()
    if stage == .discovering { return }
    answer(.ok(document))
    if flow.state == .discovering { answer(.status(404)) }
    if stage == .binding { return }
    if flow.state == .binding { take(.listening(port: port)) }
    if stage == .pushing { return }
    if flow.state == .pushing {
      answer(.ok(json(["request_uri": "urn:ietf:params:oauth:request_uri:6esc", "expires_in": .integer(60)]), 201))
    }
    if stage == .waiting { return }
    callback()
    if stage == .exchanging { return }
    answer(tokens())
    if stage == .opening { return }
    take(.storeOpened(subject: nil))
    if stage == .writing { return }
    take(.stored)
  }
}
