import Crypto
import JSON

/// The text of a record. Versions before logins wrote only the members up to `in_flight`, always with a refresh token.
extension TokenRecord {
  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "binding", value: Self.encoded(binding)), .init(name: "generation", value: .integer(generation)),
    ]
    if let refreshToken { members.append(.init(name: "refresh_token", value: Self.encoded(refreshToken.bytes))) }
    if let accessToken {
      members += [
        .init(name: "access_token", value: Self.encoded(accessToken.bytes)),
        .init(name: "expires_at", value: .integer(expiresAt)),
        .init(name: "lifetime", value: .integer(lifetime)),
      ]
    }
    if let issuedAccessToken {
      members.append(.init(name: "issued_access_token", value: Self.encoded(issuedAccessToken.bytes)))
    }
    if let certificate { members.append(.init(name: "certificate", value: Self.encoded(certificate))) }
    if let dpopKey { members.append(.init(name: "dpop_key", value: Self.encoded(dpopKey.bytes))) }
    if inFlight { members.append(.init(name: "in_flight", value: .bool(true))) }
    if let login { members.append(.init(name: "login", value: login.json)) }
    if let lastError { members.append(.init(name: "last_error", value: lastError.json)) }
    if let tombstone { members.append(.init(name: "logged_out", value: tombstone.json)) }
    if let request { members.append(.init(name: "request", value: Self.encoded(request))) }
    if let claim { members.append(.init(name: "claim", value: claim.json)) }
    if let backOff { members.append(.init(name: "back_off", value: backOff.json)) }
    if !refusals.isEmpty { members.append(.init(name: "refusals", value: .array(refusals.map(\.json)))) }
    return .object(members)
  }

  /// nil if a member is missing or invalid.
  init?(_ json: JSONValue) {
    guard let binding = Self.decoded(json["binding"]), binding.count == 32, let generation = json["generation"]?.integer,
      generation >= 0
    else { return nil }
    do throws(Damage) {
      self.init(
        binding: binding, generation: UInt64(generation), refreshToken: nil, dpopKey: try Self.token(json["dpop_key"]))
      refreshToken = try Self.token(json["refresh_token"])
      issuedAccessToken = try Self.token(json["issued_access_token"])
      if let value = json["access_token"] {
        expiresAt = try Self.time(json["expires_at"])
        guard let token = Self.decoded(value), TokenResponse.isAccessToken(token),
          let lifetime = json["lifetime"]?.integer, (1...TokenResponse.maximumLifetime).contains(lifetime)
        else { throw Damage() }
        accessToken = Secret(token)
        self.lifetime = lifetime
      }
      if let value = json["certificate"] {
        guard let thumbprint = Self.decoded(value), thumbprint.count == 32 else { throw Damage() }
        bind(to: thumbprint)
      }
      if let value = json["in_flight"] { inFlight = try Self.mark(value) }
      login = try json["login"].map { (value) throws(Damage) in try Login(value) }
      lastError = try json["last_error"].map { (value) throws(Damage) in try RefreshError(value) }
      tombstone = try json["logged_out"].map { (value) throws(Damage) in try Tombstone(value) }
      if let value = json["request"] {
        guard let digest = Self.decoded(value), digest.count == 32 else { throw Damage() }
        note(request: digest)
      }
      claim = try json["claim"].map { (value) throws(Damage) in try TokenClaim(value) }
      backOff = try json["back_off"].map { (value) throws(Damage) in try SharedBackOff(value) }
      refusals = try RefusalStart.list(json["refusals"])
    } catch {
      return nil
    }
    // A tombstone has no tokens but those to revoke, everything else a token, or what happened before there was one.
    if tombstone != nil {
      guard refreshToken == nil, accessToken == nil, issuedAccessToken == nil, dpopKey == nil else { return nil }
    } else {
      let isFirst = login == nil && accessToken == nil && generation == 0
      guard refreshToken != nil || (accessToken != nil && (login != nil || request != nil)) || isFirst else { return nil }
    }
  }

  fileprivate struct Damage: Error {}

  fileprivate static func encoded(_ bytes: [UInt8]) -> JSONValue {
    .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
  }

  private static func decoded(_ value: JSONValue?) -> [UInt8]? {
    value?.string.flatMap { Base64.decode(Array($0.utf8)) }
  }

  fileprivate static func token(_ value: JSONValue?) throws(Damage) -> Secret? {
    guard let value else { return nil }
    guard let bytes = decoded(value), !bytes.isEmpty else { throw Damage() }
    return Secret(bytes)
  }

  fileprivate static func mark(_ value: JSONValue) throws(Damage) -> Bool {
    guard case .bool(let mark) = value else { throw Damage() }
    return mark
  }

  /// Seconds or milliseconds. No sum of two, and no thousandfold of the difference, overflows.
  private static let latest: Int64 = 1 << 50

  fileprivate static func time(_ value: JSONValue?) throws(Damage) -> Int64 {
    guard let time = value?.integer, (-latest...latest).contains(time) else { throw Damage() }
    return time
  }

  fileprivate static func text(_ value: JSONValue?) throws(Damage) -> String? {
    guard let value else { return nil }
    guard let text = value.string else { throw Damage() }
    return text
  }
}

extension TokenRecord.Login {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [.init(name: "at", value: .integer(loggedInAt))]
    if let generation { members.append(.init(name: "generation", value: .integer(Int64(clamping: generation)))) }
    if let expiresAt { members.append(.init(name: "expires_at", value: .integer(expiresAt))) }
    for (name, text) in [("scope", scope), ("subject", subject), ("person", person)] {
      if let text { members.append(.init(name: name, value: .string(text))) }
    }
    if !unrevoked.isEmpty { members.append(.init(name: "unrevoked", value: RevocableToken.json(unrevoked))) }
    return .object(members)
  }

  fileprivate init(_ json: JSONValue) throws(TokenRecord.Damage) {
    loggedInAt = try TokenRecord.time(json["at"])
    if let value = json["generation"] { generation = UInt64(exactly: try TokenRecord.time(value)) }
    if let value = json["expires_at"] { expiresAt = try TokenRecord.time(value) }
    scope = try TokenRecord.text(json["scope"])
    subject = try TokenRecord.text(json["subject"])
    person = try TokenRecord.text(json["person"])
    if let value = json["unrevoked"] { unrevoked = try RevocableToken.list(value) }
  }
}

extension TokenRecord.RefreshError {
  fileprivate var json: JSONValue {
    .object([
      .init(name: "text", value: .string(text)), .init(name: "at", value: .integer(at)),
      .init(name: "final", value: .bool(isFinal)),
    ])
  }

  fileprivate init(_ json: JSONValue) throws(TokenRecord.Damage) {
    guard let text = try TokenRecord.text(json["text"]), let final = json["final"] else { throw TokenRecord.Damage() }
    self.text = text
    at = try TokenRecord.time(json["at"])
    isFinal = try TokenRecord.mark(final)
  }
}

extension TokenRecord.Tombstone {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "at", value: .integer(loggedOutAt)), .init(name: "unrevoked", value: RevocableToken.json(unrevoked)),
    ]
    if let subject { members.append(.init(name: "subject", value: .string(subject))) }
    return .object(members)
  }

  fileprivate init(_ json: JSONValue) throws(TokenRecord.Damage) {
    loggedOutAt = try TokenRecord.time(json["at"])
    guard let value = json["unrevoked"] else { throw TokenRecord.Damage() }
    unrevoked = try RevocableToken.list(value)
    subject = try TokenRecord.text(json["subject"])
  }
}

extension RevocableToken {
  fileprivate static func json(_ tokens: [RevocableToken]) -> JSONValue {
    .array(
      tokens.map { token in
        .object([
          .init(name: "hint", value: .string(token.hint.rawValue)),
          .init(name: "token", value: TokenRecord.encoded(token.token.bytes)),
        ])
      })
  }

  fileprivate static func list(_ json: JSONValue) throws(TokenRecord.Damage) -> [RevocableToken] {
    guard case .array(let values) = json else { throw TokenRecord.Damage() }
    var tokens: [RevocableToken] = []
    for value in values {
      guard let hint = value["hint"]?.string.flatMap(RevocableToken.Hint.init),
        let token = try TokenRecord.token(value["token"])
      else { throw TokenRecord.Damage() }
      tokens.append(RevocableToken(token, hint: hint))
    }
    return tokens
  }
}

extension TokenClaim {
  fileprivate var json: JSONValue {
    .object([
      .init(name: "holder", value: .string(holder)), .init(name: "process", value: .string(String(process, radix: 16))),
      .init(name: "number", value: .integer(number)), .init(name: "duration", value: .integer(duration)),
      .init(name: "since", value: .integer(since)),
    ])
  }

  fileprivate init(_ json: JSONValue) throws(TokenRecord.Damage) {
    guard let holder = try TokenRecord.text(json["holder"]), let name = try TokenRecord.text(json["process"]),
      let process = UInt64(name, radix: 16), let number = UInt64(exactly: try TokenRecord.time(json["number"]))
    else { throw TokenRecord.Damage() }
    let duration = try TokenRecord.time(json["duration"])
    // Nobody could ever take it over.
    guard (1...Self.longest).contains(duration) else { throw TokenRecord.Damage() }
    self.init(
      holder: LogText.bounded(holder), process: process, number: number, duration: duration,
      since: try TokenRecord.time(json["since"]))
  }
}

extension SharedBackOff {
  fileprivate var json: JSONValue {
    .object([
      .init(name: "until", value: .integer(until)), .init(name: "count", value: .integer(count)),
      .init(name: "text", value: .string(text)),
    ])
  }

  fileprivate init(_ json: JSONValue) throws(TokenRecord.Damage) {
    guard let text = try TokenRecord.text(json["text"]) else { throw TokenRecord.Damage() }
    until = try TokenRecord.time(json["until"])
    count = Int(max(0, min(try TokenRecord.time(json["count"]), 1_000)))
    self.text = LogText.bounded(text)
  }
}

extension RefusalStart {
  fileprivate var json: JSONValue {
    var members: [JSONValue.Member] = [.init(name: "at", value: .integer(at)), .init(name: "client", value: .string(client))]
    if inVain { members.append(.init(name: "in_vain", value: .bool(true))) }
    return .object(members)
  }

  fileprivate static func list(_ json: JSONValue?) throws(TokenRecord.Damage) -> [RefusalStart] {
    guard let json else { return [] }
    guard case .array(let values) = json else { throw TokenRecord.Damage() }
    var starts: [RefusalStart] = []
    for value in values {
      guard let client = try TokenRecord.text(value["client"]) else { throw TokenRecord.Damage() }
      var start = RefusalStart(at: try TokenRecord.time(value["at"]), client: client)
      if let mark = value["in_vain"] { start.inVain = try TokenRecord.mark(mark) }
      starts.append(start)
    }
    return starts
  }
}
