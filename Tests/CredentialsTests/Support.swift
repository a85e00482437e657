import Testing

@testable import Credentials

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

func makePolicy(
  grant: OAuth2Policy.Grant = .clientCredentials,
  endpoint: OAuth2Policy.Endpoint = .token(url: "https://login.example.com/token"),
  clientID: String? = "app", authentication: OAuth2Policy.ClientAuthentication = .basic(secret: Secret("hush-hush")),
  scope: String? = nil, parameters: [String: String] = [:], refreshBeforeExpiry: Int = 300_000,
  window: OAuth2Policy.RefreshWindow = .init(), certificate: OAuth2Policy.ClientCertificate? = nil
) -> OAuth2Policy {
  OAuth2Policy(
    endpoint: endpoint, grant: grant, clientID: clientID, clientAuthentication: authentication,
    clientCertificate: certificate, scope: scope, parameters: parameters, refreshBeforeExpiry: refreshBeforeExpiry,
    refreshWindow: window)
}

func key(_ path: String = "/", client: String = "billing") -> RequestKey {
  RequestKey(entry: "api", client: client, method: "GET", path: bytes(path))
}

func grant(_ token: String, lifetime: Int64? = 3600, refreshToken: String? = nil) -> TokenAnswer {
  .token(TokenGrant(accessToken: Secret(token), lifetime: lifetime, refreshToken: refreshToken.map { Secret($0) }))
}

func refusal(_ code: OAuthError.Code) -> TokenAnswer { .refused(OAuthError(code: code, text: code.rawValue)) }

extension [OAuth2Machine.Action] {
  var fetches: [UInt64] { compactMap { if case .fetch(let id, _, _) = $0 { id } else { nil } } }
  var fetchedWith: [String?] {
    compactMap { if case .fetch(_, let token, _) = $0 { .some(token.map { text($0.bytes) }) } else { nil } }
  }
  var cancelled: [UInt64] { compactMap { if case .cancelFetch(let id) = $0 { id } else { nil } } }
  var published: [RenderedCredential] { compactMap { if case .publish(let credential) = $0 { credential } else { nil } } }
  var released: [RelayReason] { compactMap { if case .releaseRefused(let reason) = $0 { reason } else { nil } } }
  var failedWaiters: [CredentialUnavailable] { compactMap { if case .failWaiters(let why) = $0 { why } else { nil } } }
  var wakes: [Int64?] { compactMap { if case .wakeAt(let time) = $0 { .some(time) } else { nil } } }
  var reports: [OAuth2Machine.Report] { compactMap { if case .report(let report) = $0 { report } else { nil } } }
  var failed: [CredentialUnavailable] { compactMap { if case .failWaiters(let why) = $0 { why } else { nil } } }
  var storeIDs: [UInt64] { compactMap { if case .store(let id, _) = $0 { id } else { nil } } }
  var stored: [TokenStoreRequest] { compactMap { if case .store(_, let request) = $0 { request } else { nil } } }
}

extension OAuth2Machine.Need {
  var isWait: Bool { if case .wait = self { true } else { false } }
  var version: UInt64? { if case .ready(let credential) = self { credential.version } else { nil } }
  var unavailable: CredentialUnavailable? { if case .unavailable(let why) = self { why } else { nil } }
}

extension OAuth2Machine.RefusalDecision {
  var isWait: Bool { if case .waitForRefresh = self { true } else { false } }
  var resent: UInt64? { if case .resend(let credential) = self { credential.version } else { nil } }
  var reason: RelayReason? { if case .relay(let reason) = self { reason } else { nil } }
}

/// A machine with a clock and a log of its actions.
struct Driver {
  var machine: OAuth2Machine
  var now: Int64 = 1_000_000
  var wall: Int64 = 1_800_000_000
  /// Since the start.
  var fetches: [UInt64] = []
  var wakeAt: Int64?

  init(_ policy: OAuth2Policy = makePolicy(), seed: UInt64 = 7, after version: UInt64 = 0) {
    machine = OAuth2Machine(name: "api", policy: policy, seed: seed, after: version)
  }

  mutating func pass(_ milliseconds: Int64) {
    now += milliseconds
    wall += milliseconds / 1000
  }

  mutating func note(_ actions: [OAuth2Machine.Action]) -> [OAuth2Machine.Action] {
    fetches += actions.fetches
    if let last = actions.wakes.last { wakeAt = last }
    return actions
  }

  mutating func need() -> (need: OAuth2Machine.Need, actions: [OAuth2Machine.Action]) {
    let result = machine.need(now: now)
    return (result.need, note(result.actions))
  }

  mutating func refused(
    _ version: UInt64, by request: RequestKey = key(), isRetry: Bool = false
  ) -> (decision: OAuth2Machine.RefusalDecision, actions: [OAuth2Machine.Action]) {
    let result = machine.refused(version: version, by: request, isRetry: isRetry, now: now)
    return (result.decision, note(result.actions))
  }

  mutating func timer() -> [OAuth2Machine.Action] { note(machine.timer(now: now)) }

  /// Answers the latest fetch.
  mutating func answer(_ answer: TokenAnswer) -> [OAuth2Machine.Action] {
    note(machine.tokenAnswer(id: fetches.last ?? 0, answer, now: now, wall: wall))
  }

  /// From empty to ready with version 1.
  mutating func makeReady(_ token: String = "one", lifetime: Int64? = 3600) {
    _ = need()
    _ = answer(grant(token, lifetime: lifetime))
  }

  /// Advances the time to the next wake-up and calls the timer; nil if none is set.
  mutating func wake() -> [OAuth2Machine.Action]? {
    guard let wakeAt else { return nil }
    if wakeAt > now { pass(wakeAt - now) }
    return timer()
  }
}
