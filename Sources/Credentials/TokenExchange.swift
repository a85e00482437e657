/// The requests of one refresh, in order: discovery if the configuration names an issuer, then the token request; once more
/// without scope if a refresh is refused for it, and once more with the server's nonce for DPoP.
///
/// One per credential. The owner keeps it between refreshes, as it caches the discovered endpoint.
public struct TokenExchange: Sendable {
  public enum Step: Sendable, Hashable {
    /// Send this under the credential's trust policy, without following redirects; then call `answered` or `failed`.
    case send(TokenHTTPRequest)
    case finished(TokenAnswer)
  }

  /// Milliseconds for which a discovered endpoint is cached.
  public static let discoveryLifetime: Int64 = 3_600_000

  private let policy: OAuth2Policy
  private var material = TokenRequest.Material()
  private var phase = Phase.idle
  private var discovered: (endpoint: Discovery.TokenEndpoint, until: Int64)?
  /// Outlives a refresh, with the nonces of the server.
  private var dpop: DPoPSession?

  /// Of a grant that is none of OAuth 2.0. Outlives a refresh.
  private var source: SourceExchange?

  private enum Phase {
    case idle
    case atSource
    case discovering(Search)
    case requesting(Sent)
  }

  private struct Search {
    var remaining: [String]
    /// Of the document that was asked last.
    var failure: TokenFailure?
    /// What the first document named. The second one is only asked for an alias, and may fail.
    var found: Discovery.TokenEndpoint?
    var now: Int64
    var wall: Int64
  }

  private struct Sent {
    let secrets: [Secret]
    let endpoint: Discovery.TokenEndpoint
    let hasOptionalScope: Bool
    let withScope: Bool
    /// The server has asked for its nonce before.
    let isRepeated: Bool
  }

  public init(policy: OAuth2Policy) {
    self.policy = policy
    source = policy.source.map { SourceExchange($0) }
  }

  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - wall: Unix seconds.
  public mutating func start(_ material: TokenRequest.Material, now: Int64, wall: Int64) -> Step {
    self.material = material
    if source != nil {
      phase = .atSource
      return step(source?.start(material.access, wall: wall))
    }
    if dpop?.key != material.dpopKey { dpop = material.dpopKey.map { DPoPSession($0) } }
    switch policy.endpoint {
    case .token(let url): return request(.init(url: url, audience: url), wall: wall)
    case .issuer(let url):
      if let discovered, now < discovered.until { return request(discovered.endpoint, wall: wall) }
      do { return discover(Search(remaining: try Discovery.documentURLs(issuer: url), now: now, wall: wall)) } catch {
        return finish(.failed(.discovery("\(error)")))
      }
    }
  }

  /// - Parameters:
  ///   - retryAfter: seconds; nil if the response had no numeric Retry-After.
  ///   - dpopNonce: the DPoP-Nonce field; nil if the response had none, or several.
  ///   - date: Unix seconds of the Date field; nil if the response had none, or came from a cache.
  ///   - metadataFlavor: the Metadata-Flavor field; nil if the response had none, or several.
  public mutating func answered(
    status: Int, retryAfter: Int64?, dpopNonce: String? = nil, date: Int64? = nil, metadataFlavor: String? = nil, body: [UInt8],
    now: Int64, wall: Int64
  ) -> Step {
    switch phase {
    case .atSource:
      let reply = SourceReply(status: status, retryAfter: retryAfter, date: date, metadataFlavor: metadataFlavor, body: body)
      return step(source?.answered(reply, wall: wall))
    case .idle: return .finished(.failed(.malformed("it came unasked")))
    case .requesting(let sent):
      let hasNonce = dpop?.take(dpopNonce, from: sent.endpoint.url) ?? false
      let answer = TokenResponse.parse(
        status: status, body: body, retryAfter: retryAfter, hiding: sent.secrets, as: policy.tokenScheme,
        ofExchange: policy.exchange != nil)
      // Forget the endpoint, so that one that moved is discovered again.
      if case .failed(.status(404), _) = answer { discovered = nil }
      if case .failed(.redirected, _) = answer { discovered = nil }
      // Some servers refuse the scope that others require. They have refused before they exchanged the refresh token.
      if case .refused(let error) = answer, error.code == .invalidScope, sent.hasOptionalScope {
        return request(sent.endpoint, wall: wall, withScope: false, isRepeated: sent.isRepeated)
      }
      // Once: a server that asks again would keep the proxy busy for ever.
      if case .refused(let error) = answer, error.code == .useDPoPNonce, hasNonce, !sent.isRepeated {
        return request(sent.endpoint, wall: wall, withScope: sent.withScope, isRepeated: true)
      }
      return finish(answer)
    case .discovering(var search):
      (search.now, search.wall) = (now, wall)
      guard status == 200 else {
        search.failure = .discovery("the discovery document's address answered with status \(status)")
        // Ask for the other kind of document only if the server does not have this one.
        guard (400..<500).contains(status), status != 429 else { return give(up: search) }
        return discover(search)
      }
      return read(body, search)
    }
  }

  /// A document. Another one may have what it lacks.
  private mutating func read(_ body: [UInt8], _ known: Search) -> Step {
    var search = known
    guard case .issuer(let issuer) = policy.endpoint else { return finish(.failed(.discovery("no issuer"))) }
    let withCertificate = policy.clientCertificate != nil
    do throws(Discovery.Failure) {
      let endpoint = try Discovery.tokenEndpoint(body, issuer: issuer, withCertificate: withCertificate)
      // RFC 8705 section 5: an alias takes precedence.
      guard withCertificate, !endpoint.isAlias else { return use(endpoint, search) }
      search.found = search.found ?? endpoint
      return discover(search)
    } catch {
      search.failure = .discovery("\(error)")
      if case .missing = error { return discover(search) }
      return give(up: search)
    }
  }

  private mutating func use(_ endpoint: Discovery.TokenEndpoint, _ search: Search) -> Step {
    discovered = (endpoint, search.now + Self.discoveryLifetime)
    return request(endpoint, wall: search.wall)
  }

  private mutating func give(up search: Search) -> Step {
    if let found = search.found { return use(found, search) }
    return finish(.failed(search.failure ?? .discovery("the issuer has no discovery document")))
  }

  /// Takes over what a copy of `before` has discovered since, and the nonces that it got, while others ran beside it.
  public mutating func learn(from ended: TokenExchange, since before: TokenExchange) {
    if let session = ended.dpop {
      if dpop?.key == session.key { dpop?.learn(from: session, since: before.dpop) } else { dpop = session }
    }
    if let found = ended.discovered {
      if found.until > discovered?.until ?? .min { discovered = found }
    } else if let gone = before.discovered, gone.until == discovered?.until {
      discovered = nil
    }
  }

  /// A source that was chosen among several is chosen again by the next `start`.
  public mutating func chooseAgain() { source?.chooseAgain() }

  /// Nobody wants the token any more. Forgets what was sent.
  public mutating func abandon() {
    source?.forget()
    _ = finish(.failed(.timedOut))
  }

  public mutating func failed(_ failure: TokenFailure) -> Step {
    if case .atSource = phase { return step(source?.failed(failure)) }
    if case .discovering(let search) = phase, search.found != nil { return give(up: search) }
    return finish(.failed(failure))
  }

  private mutating func discover(_ search: Search) -> Step {
    guard let url = search.remaining.first else { return give(up: search) }
    var next = search
    next.remaining.removeFirst()
    phase = .discovering(next)
    return .send(Discovery.request(url))
  }

  private mutating func request(
    _ endpoint: Discovery.TokenEndpoint, wall: Int64, withScope: Bool = true, isRepeated: Bool = false
  ) -> Step {
    // Fail closed: a server that binds nothing would take the request without a proof.
    guard policy.dpop == nil || dpop != nil else { return finish(.failed(.signing("there is no key for the proof (dpop)"))) }
    do {
      let request = try TokenRequest(
        policy: policy, endpoint: endpoint.url, audience: endpoint.audience, material: material, wall: wall,
        withScope: withScope)
      let http = try dpop?.proving(request.http, wall: wall) ?? request.http
      phase = .requesting(
        Sent(
          secrets: request.secrets, endpoint: endpoint, hasOptionalScope: request.sendsOptionalScope, withScope: withScope,
          isRepeated: isRepeated))
      return .send(http)
    } catch {
      return finish(.failed(error))
    }
  }

  /// A step at the source.
  private mutating func step(_ step: Step?) -> Step {
    switch step {
    case .send(let request)?: .send(request)
    case .finished(let answer)?: finish(answer)
    case nil: finish(.failed(.malformed("it came unasked")))
    }
  }

  private mutating func finish(_ answer: TokenAnswer) -> Step {
    phase = .idle
    // Do not keep tokens longer than necessary.
    material = TokenRequest.Material()
    return .finished(answer)
  }
}
