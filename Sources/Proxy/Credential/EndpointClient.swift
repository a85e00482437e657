import Cache
import Credentials
import EventIO
import Fetch
import Settings
import Upstreams

/// What it takes to speak to a credential's authorization server as the proxy does: its trust policy, its sources. For commands, which
/// run no proxy.
public struct EndpointAccess: Sendable {
  let setup: CredentialSetup
  fileprivate let rules: UpstreamRules

  /// Blocks while it loads anchors.
  /// - Parameters:
  ///   - settings: with the credential and its trust policy; nothing else is used.
  ///   - sources: where the secrets came from, by key path.
  public init(
    to credential: String, in settings: Settings, sources: [String: SecretSource]
  ) throws(SnapshotBuilder.LoadError) {
    let snapshot = try SnapshotBuilder(makesAuthorities: false).build(settings, sources: sources, generation: 0)
    guard let setup = snapshot.credentials.first(where: { $0.name == credential }) else {
      throw SnapshotBuilder.LoadError(message: "no credential \(credential)")
    }
    self.setup = setup
    rules = snapshot.upstreamRules
    fleetStore = setup.shared.map { CommandStore($0, rules: snapshot.upstreamRules) }
  }

  /// The configured token store, for this credential.
  public var store: any TokenStore { fleetStore ?? setup.store }

  /// The credential's record in the store that a fleet shares; nil: it has none there.
  public let fleetStore: CommandStore?

  /// Where the store that a fleet shares has the record, for people.
  public var recordName: String? { setup.shared?.description }

  /// An assertion of the client, read again from its file or program. Blocks.
  fileprivate var clientAssertion: Result<Secret, TokenFailure> {
    do {
      guard let assertion = try setup.sources.material(refreshToken: nil).clientAssertion else {
        return .failure(.secretUnreadable("there is no client_assertion"))
      }
      return .success(assertion)
    } catch { return .failure(.secretUnreadable("\(error)")) }
  }
}

/// Sends requests to an authorization server under the credential's trust, with its certificate. Confined to its loop.
public final class EndpointClient {
  private let access: EndpointAccess
  private unowned let loop: EventLoop
  private let upstreams: Upstreams

  /// - Parameters:
  ///   - group: the only loop's.
  ///   - loop: one that serves nothing else.
  public init(_ access: EndpointAccess, on loop: EventLoop, of group: LoopGroup) {
    self.access = access
    self.loop = loop
    let shared = SharedUpstreams(group: group)
    let observer = LoopObserver()
    upstreams = .install(on: loop, shared: shared, rules: access.rules, observer: observer)
    // For the credential of a parent proxy on the way.
    _ = CredentialDesk.install(
      on: loop, group: group, registry: CredentialRegistry(CacheStore(limit: 0)), fetch: upstreams.fetch, observer: observer)
  }

  /// On a new connection, as a code or token must not be sent twice. If the request awaits the client's assertion, it is read
  /// first, in a lane.
  /// - Parameter timeout: milliseconds.
  /// - Returns: cancels it; `then` is not called any more.
  public func send(
    _ request: TokenHTTPRequest, timeout: Int, then: @escaping (EndpointAnswer) -> Void
  ) -> () -> Void {
    let sending = Sending(upstreams.fetch, for: access.setup, timeout: timeout, then)
    guard request.awaitsAssertion else {
      sending.begin(request)
      return sending.cancel
    }
    let (access, executor) = (access, loop.executor)
    let isQueued = Lane.helpers.run {
      let assertion = access.clientAssertion
      executor.call { _ in sending.begin(request, adding: assertion) }
    }
    if !isQueued {
      executor.call { _ in sending.begin(request, adding: .failure(.unreachable("too much work waits in the proxy"))) }
    }
    return sending.cancel
  }

  /// One request.
  // SAFETY: confined to its loop; the lane for helper programs carries it, and uses nothing of it.
  private final class Sending: @unchecked Sendable {
    private let fetch: FetchClient
    private let setup: CredentialSetup
    private let timeout: Int
    private var then: ((EndpointAnswer) -> Void)?
    private var transfer: FetchTransfer?

    init(_ fetch: FetchClient, for setup: CredentialSetup, timeout: Int, _ then: @escaping (EndpointAnswer) -> Void) {
      self.fetch = fetch
      self.setup = setup
      self.timeout = timeout
      self.then = then
    }

    func begin(_ request: TokenHTTPRequest, adding assertion: Result<Secret, TokenFailure>) {
      switch assertion {
      case .success(let assertion): begin(request.adding(clientAssertion: assertion), hiding: assertion)
      case .failure(let failure): end(.failed(failure))
      }
    }

    func begin(_ request: TokenHTTPRequest, hiding secret: Secret? = nil) {
      guard then != nil else { return }
      let message = HTTPFetch(
        method: request.method == .post ? .post : .get, url: request.url,
        fields: request.fields.map { ($0.name, $0.value.bytes) },
        body: request.body.bytes, timeout: timeout, limitBytes: request.maximumAnswer, sharesConnections: false)
      transfer = fetch.start(message, under: setup.trust, with: setup.certificate) { outcome in
        switch outcome {
        case .success(let answer):
          let received = EndpointAnswer.response(
            status: answer.status, retryAfter: answer.retryAfter, body: Secret(answer.body), dpopNonce: answer.dpopNonce)
          self.end(secret.map(received.hiding) ?? received)
        case .failure(let failure): self.end(.failed(TokenFailure(failure)))
        }
      }
    }

    private func end(_ answer: EndpointAnswer) {
      let then = then
      self.then = nil
      transfer = nil
      then?(answer)
    }

    func cancel() {
      then = nil
      transfer?.cancel()
      transfer = nil
    }
  }
}
