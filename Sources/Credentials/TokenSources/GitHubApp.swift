import HTTPWire
import JSON

/// An installation token of a GitHub App.
public struct GitHubApp: Sendable, Hashable {
  public enum Scheme: String, Sendable, Hashable, CaseIterable {
    case bearer
    /// User name `x-access-token`, for git over http.
    case basic
  }
  public struct Permission: Sendable, Hashable {
    public let name: String
    public let access: String
    public init(name: String, access: String) {
      self.name = name
      self.access = access
    }
  }

  public let appID: String
  public let installationID: String
  public let key: OAuth2Policy.SigningKey
  /// Names without their owner; empty: all of the installation.
  public let repositories: [String]
  /// Empty: all of the installation.
  public let permissions: [Permission]
  public let scheme: Scheme
  /// URL of the API, without a slash at its end.
  public let api: String

  public init(
    appID: String, installationID: String, key: OAuth2Policy.SigningKey, repositories: [String] = [],
    permissions: [Permission] = [], scheme: Scheme = .bearer, api: String = Self.api
  ) {
    self.appID = appID
    self.installationID = installationID
    self.key = key
    self.repositories = repositories
    self.permissions = permissions
    self.scheme = scheme
    self.api = api
  }

  public static let api = "https://api.github.com"
  /// User name of Basic authentication with an installation token.
  static let userName = "x-access-token"

  var continuity: [[UInt8]] {
    ([appID, installationID, scheme.rawValue, api] + repositories + ["permissions"]
      + permissions.flatMap { [$0.name, $0.access] }).map { Array($0.utf8) }
  }
}

/// A JWT of the app, exchanged for a token of its installation.
struct GitHubFetch: SourceSteps {
  let app: GitHubApp
  /// Seconds that GitHub's clock is ahead of ours. Known once it has refused a JWT.
  private var clockOffset: Int64 = 0
  private var isRepeat = false
  private var sent: Secret?

  /// Seconds of a JWT from `iat` to `exp`. GitHub refuses more than ten minutes.
  static let lifetime: Int64 = 540
  /// Seconds that `iat` lies in the past, as GitHub advises: clocks differ.
  static let backdate: Int64 = 60
  /// Seconds by which our clock may be wrong, and by which it is corrected at most.
  private static let tolerance: Int64 = 30
  private static let farthest: Int64 = 900

  init(_ app: GitHubApp) { self.app = app }

  mutating func forget() {
    isRepeat = false
    sent = nil
  }

  private var name: String { "GitHub (\((try? HTTPURL(app.api))?.authority ?? "its API"))" }

  mutating func start(_ access: SourceAccess, wall: Int64) -> TokenExchange.Step {
    do throws(TokenFailure) { return .send(try request(wall)) } catch { return .failed(error) }
  }

  private mutating func request(_ wall: Int64) throws(TokenFailure) -> TokenHTTPRequest {
    let claims = JSONWebToken.Claims(
      issuer: app.appID, subject: "", audience: "", issuedAt: wall + clockOffset - Self.backdate, lifetime: Self.lifetime,
      identifier: "")
    let token = try JSONWebToken.sign(claims, with: app.key)
    sent = token
    var body: [JSONValue.Member] = []
    if !app.repositories.isEmpty {
      body.append(.init(name: "repositories", value: .array(app.repositories.map { .string($0) })))
    }
    if !app.permissions.isEmpty {
      let members = app.permissions.map { JSONValue.Member(name: $0.name, value: .string($0.access)) }
      body.append(.init(name: "permissions", value: .object(members)))
    }
    return TokenHTTPRequest(
      method: .post, url: "\(app.api)/app/installations/\(app.installationID)/access_tokens",
      fields: [
        ("Authorization", Secret(Array("Bearer ".utf8) + token.bytes)), ("Accept", Secret("application/vnd.github+json")),
        ("Content-Type", Secret("application/json")), ("X-GitHub-Api-Version", Secret("2022-11-28")),
      ],
      body: Secret(JSONValue.object(body).text), maximumAnswer: TokenResponse.maximumBody)
  }

  mutating func failed(_ failure: TokenFailure) -> TokenExchange.Step {
    .failed(.server(failure.described(of: name)))
  }

  mutating func answered(_ reply: SourceReply, wall: Int64) -> TokenExchange.Step {
    switch reply.status {
    case 200..<300: return token(reply, wall)
    case 300..<400: return .failed(.server(TokenFailure.redirected.described(of: name)))
    case 401:
      if !isRepeat, let offset = reply.clockOffset(at: wall), abs(offset - clockOffset) > Self.tolerance {
        guard abs(offset) <= Self.farthest else {
          // It passes when somebody has set the clock, which is nothing that the app or its key could be blamed for.
          let side = offset > 0 ? "behind" : "ahead of"
          return .failed(.unfit("\(said(reply)); our clock is \(abs(offset)) s \(side) GitHub's, too far to be corrected"))
        }
        isRepeat = true
        clockOffset = offset
        do throws(TokenFailure) { return .send(try request(wall)) } catch { return .failed(error) }
      }
      return refused(reply)
    case 404, 422: return refused(reply)
    // A limit on requests, which Retry-After ends.
    case 403, 429: return .failed(.server(said(reply)), retryAfter: reply.wait)
    // Everything else passes by itself, too. What stands in front of GitHub may not know when.
    default: return .failed(.server(said(reply)), retryAfter: reply.wait.map { min($0, OAuth2Machine.longestBackOff) })
    }
  }

  private func refused(_ reply: SourceReply) -> TokenExchange.Step {
    .finished(.refused(OAuthError(code: .other, text: said(reply))))
  }

  /// With GitHub's own message.
  private func said(_ reply: SourceReply) -> String {
    let text = TokenFailure.status(reply.status).described(of: name)
    guard let message = (try? JSONParser.parse(reply.body))?["message"]?.string, !message.isEmpty else { return text }
    return "\(text) (\(LogText.bounded(message, hiding: [sent].compactMap { $0 })))"
  }

  private func token(_ reply: SourceReply, _ wall: Int64) -> TokenExchange.Step {
    func malformed(_ why: String) -> TokenExchange.Step { .failed(.server(TokenFailure.malformed(why).described(of: name))) }
    let json: JSONValue
    do { json = try JSONParser.parse(reply.body) } catch { return malformed("it is \(error.reason.rawValue)") }
    guard let text = json["token"]?.string, TokenResponse.isAccessToken(Array(text.utf8)),
      text.utf8.count <= TokenResponse.maximumToken
    else { return malformed("it has no token") }
    guard let end = json["expires_at"]?.string.flatMap(UTCInstant.parse) else { return malformed("it has no expires_at") }
    let left = end - reply.time(at: wall)
    guard left > 0 else { return .failed(.expiredOnArrival) }
    return .finished(.token(TokenGrant(accessToken: Secret(text), lifetime: min(left, TokenResponse.maximumLifetime))))
  }
}
