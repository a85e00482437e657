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
  }

  /// The configured token store.
  public var store: any TokenStore { setup.store }

  /// An assertion of the client from a file or program, read again; nil: there is none. Blocks.
  public func clientAssertion() throws(SecretError) -> Secret? { try setup.sources.material(refreshToken: nil).clientAssertion }
}

/// Sends requests to an authorization server under the credential's trust. Confined to its loop.
public final class EndpointClient {
  private let access: EndpointAccess
  private let upstreams: Upstreams

  /// - Parameters:
  ///   - group: the only loop's.
  ///   - loop: one that serves nothing else.
  public init(_ access: EndpointAccess, on loop: EventLoop, of group: LoopGroup) {
    self.access = access
    let shared = SharedUpstreams(group: group)
    upstreams = .install(on: loop, shared: shared, rules: access.rules, observer: LoopObserver())
  }

  /// On a new connection, as a code or token must not be sent twice.
  /// - Parameter timeout: milliseconds.
  /// - Returns: cancels it; `then` is not called any more.
  public func send(
    _ request: TokenHTTPRequest, timeout: Int, then: @escaping (EndpointAnswer) -> Void
  ) -> () -> Void {
    let fetch = HTTPFetch(
      method: request.method == .post ? .post : .get, url: request.url,
      fields: request.fields.map { ($0.name, $0.value.bytes) },
      body: request.body.bytes, timeout: timeout, limitBytes: request.maximumAnswer, sharesConnections: false)
    let transfer = upstreams.fetch.start(fetch, under: access.setup.trust) { outcome in
      switch outcome {
      case .success(let answer):
        then(.response(status: answer.status, retryAfter: answer.retryAfter, body: Secret(answer.body)))
      case .failure(let failure): then(.failed(TokenFailure(failure)))
      }
    }
    return { transfer.cancel() }
  }
}
