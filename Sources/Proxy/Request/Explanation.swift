import Credentials
import Forwarding
import HTTPWire
import Routing
import Settings
import Trust
import Upstreams

/// What the proxy would do with a request, and why. The code that serves requests decides it.
public struct Explanation: Sendable {
  public enum Outcome: Sendable {
    case forwarded(Forwarded)
    /// CONNECT to host and port of these entries: no tunnel, clear HTTP follows.
    /// - Parameter tunnelsTLS: if a TLS handshake follows instead, it becomes a tunnel; otherwise the connection is closed.
    case entriesThroughConnect(names: [String], tunnelsTLS: Bool)
    case tunnel
    /// CONNECT to a host and port of these entries: the proxy answers the TLS handshake that follows.
    case intercepted(names: [String])
    /// The proxy answers itself.
    case answered(status: Int, reason: String, text: String)
  }

  public struct Forwarded: Sendable {
    public var upstream: UpstreamSettings
    /// No entry matches, but `unlisted_hosts` is `forward`.
    public var isUnlisted: Bool
    /// The request's own origin: an entry can have many.
    public var origin: UpstreamSettings.Origin
    /// Path and query that the origin gets, without the credential.
    public var target: String
    public var credential: CredentialPolicy?
    /// Path and query that the origin is asked for, without secrets, if the credential is a part of them; nil: it is in fields.
    public var shownTarget: String?
    /// nil for http origins.
    public var trust: TrustPolicy?
    /// `forbidden_addresses` applies to the addresses of the name.
    public var checksAddresses: Bool
    /// nil: the entry has no `cache`.
    public var storing: Storing?
  }

  public var outcome: Outcome
  /// The entries for the target's host, most specific first.
  public var candidates: [Candidate] = []

  /// - Parameters:
  ///   - target: as an app sends it to a proxy: an absolute URL, or `host:port` for CONNECT.
  ///   - fields: what else the app sends, as `Name: value`.
  ///   - client: nil = no password and no known address.
  public static func of(
    method: String, target: String, fields: [String] = [], client: ClientSettings?, in snapshot: Snapshot
  ) -> Explanation {
    var explanation = Explanation(outcome: .tunnel)
    let lines = fields.map { "\($0)\r\n" }.joined()
    let request = Array("\(method) \(target) HTTP/1.1\r\nHost: x\r\n\(lines)\r\n".utf8)
    explanation.outcome = request.withUnsafeBytes { bytes in
      do throws(ProxyError) { return try explanation.decide(bytes, client, snapshot) } catch {
        return answered(error.answer(for: nil))
      }
    }
    return explanation
  }

  private static func answered(_ answer: OwnAnswer) -> Outcome {
    .answered(status: answer.status, reason: "\(answer.reason)", text: String(answer.body.drop { $0 == "\n" }))
  }

  /// nil: the credential is no part of the target.
  private static func shownTarget(
    _ target: RequestTarget, _ head: borrowing RequestHead, _ bytes: UnsafeRawBufferPointer, _ entry: Entry,
    _ rules: ForwardingRules, _ snapshot: Snapshot
  ) throws(ProxyError) -> String? {
    guard let credential = rules.target, let index = entry.credential,
      let part = snapshot.credentials[index].policy.shownTargetPart
    else { return nil }
    var outbound = OutboundRequest(head)
    var decided = RequestHead()
    _ = decided.parse(bytes, limit: bytes.count)
    do { try outbound.decide(&decided, in: bytes, rules: rules) } catch { throw ProxyError(error, for: entry.name) }
    let shown = credential.shown(
      rules.sent(target, method: head.method, in: bytes), with: part, keepsOwn: !outbound.sendsCredential)
    return String(decoding: shown, as: UTF8.self)
  }

  private mutating func decide(
    _ bytes: UnsafeRawBufferPointer, _ client: ClientSettings?, _ snapshot: Snapshot
  ) throws(ProxyError) -> Outcome {
    var head = RequestHead()
    if case .invalid(let error) = head.parse(bytes, limit: snapshot.settings.limits.requestHead) { throw .malformed(error) }
    let target: RequestTarget
    do { target = try RequestTarget(of: head, in: bytes) } catch { throw .malformed(error) }
    // Clients of a known address need no password. Who they are, only --client can say.
    if client == nil, snapshot.settings.listeners.allSatisfy(\.clientsRequired) { throw .passwordRequired }
    let access = client.map { ClientIdentity($0) } ?? ClientIdentity(anonymousIn: snapshot.settings)
    let host = normalisedHost(target.host.bytes(in: bytes))
    let router = snapshot.router
    switch target.form {
    case .origin: throw .originForm
    case .asterisk: return Self.answered(.options)
    case .authority:
      guard let port = target.port else { throw .malformed(.port) }
      candidates = router.candidates(host: host, port: port, isHTTPS: false, path: nil, in: bytes, client: access.name)
      let decision: ConnectDecision
      do { decision = try router.decideConnect(host: host, port: port, for: access) } catch { throw ProxyError(error) }
      switch decision {
      case .tunnel: return .tunnel
      case .served(let served):
        if case .intercepted(let routes) = served.tls {
          return .intercepted(names: routes.entries.map { snapshot.entries[$0].name })
        }
        let tunnels = if case .tunnelled = served.tls { true } else { false }
        return .entriesThroughConnect(
          names: served.clear?.entries.map { snapshot.entries[$0].name } ?? [], tunnelsTLS: tunnels)
      }
    case .absolute:
      let port = target.effectivePort
      candidates = router.candidates(
        host: host, port: port, isHTTPS: target.isHTTPS, path: target.path, in: bytes, client: access.name)
      // Apps ask for https:// URLs by CONNECT: where that is intercepted, requests go nowhere else.
      var isBound = false
      if target.isHTTPS, case .served(let served)? = try? router.decideConnect(host: host, port: port, for: access),
        case .intercepted = served.tls
      {
        isBound = true
      }
      let place: RoutePlace
      do {
        place = try router.place(
          router.find(host: host, port: port, isHTTPS: target.isHTTPS), method: head.method, methodText: head.methodText,
          host: host, port: port,
          isHTTPS: target.isHTTPS, path: target.path, in: bytes, for: access, isBound: isBound)
      } catch { throw ProxyError(error) }
      let entry = snapshot.entries[place.entry]
      let origin = snapshot.origin(of: entry, host: host, port: port, isHTTPS: target.isHTTPS)
      return .forwarded(
        Forwarded(
          upstream: entry.settings, isUnlisted: entry.isUnlisted,
          origin: .init(scheme: origin.identity.scheme, host: origin.identity.host, port: origin.identity.port),
          target: String(decoding: entry.rules[place.match].sent(target, method: head.method, in: bytes), as: UTF8.self),
          credential: entry.credential.map { snapshot.credentials[$0].policy },
          shownTarget: try Self.shownTarget(target, head, bytes, entry, entry.rules[place.match], snapshot),
          trust: origin.trust?.policy,
          checksAddresses: origin.identity.checksAddresses,
          storing: try Storing(head, in: bytes, entry, entry.rules[place.match], snapshot)))
    }
  }
}
