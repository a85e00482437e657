import EventIO
import TLS
import Trust

/// One loop's client for the proxy's own requests: libcurl, driven by the loop. netrc, proxies from the environment, redirects,
/// cookies and TLS session caching are off. Confined to its loop.
public final class FetchClient {
  private unowned let loop: EventLoop
  /// libcurl 7.88 reuses connections of other certificates than the one that an SSL_CTX callback sets. So each certificate has a
  /// multi handle of its own, which has its own connections.
  private var channels: [ChannelKey: FetchChannel] = [:]
  /// Judges revocation; nil = revocation is not checked.
  public var gate: (any FetchGate)?

  /// nil = all fetches go directly.
  public weak var ways: (any FetchWays)?

  /// Loads libcurl meanwhile, as something will be fetched soon. It takes some milliseconds, for which the first fetch would hold its
  /// loop.
  public static func prepare() { _ = isLoading }

  /// Once.
  private static let isLoading = Lane.helpers.run { _ = Library.load() }

  public init(loop: EventLoop) { self.loop = loop }

  private struct ChannelKey: Hashable {
    /// Digest of the trust policy; empty for requests without one.
    var policy: [UInt8]
    /// Digest of the client's certificate; empty for requests without one.
    var certificate: [UInt8]
  }

  /// - Parameters:
  ///   - trust: judges an https server; nil = https is not allowed.
  ///   - identity: what an https server gets if it asks for the client's certificate; nil = none.
  ///   - completion: called once, on the loop and never before this returns, unless cancelled.
  @discardableResult
  public func start(
    _ fetch: HTTPFetch, under trust: TrustMaterial?, with identity: TLSIdentity? = nil,
    completion: @escaping (HTTPFetch.Outcome) -> Void
  ) -> FetchTransfer {
    let key = ChannelKey(policy: trust?.digest ?? [], certificate: PolicyDigest.of(identity))
    let channel: FetchChannel
    if let known = channels[key] {
      channel = known
    } else {
      channel = FetchChannel(loop)
      if channel.isUsable { channels[key] = channel }
    }
    let way = fetch.goesDirectly ? .direct : ways?.way(of: fetch) ?? .direct
    var passage: (any FetchPassage)?
    if case .through(let found) = way { passage = found }
    let transfer = FetchTransfer(fetch, trust, identity, gate, passage, completion)
    if case .refused = way { channel.refuse(transfer) } else { channel.start(transfer) }
    return transfer
  }

  /// Drops the connections of policies and certificates that no configuration has any more, once they have no transfers.
  public func keepOnly(_ policies: Set<[UInt8]>, certificates: Set<[UInt8]>) {
    channels = channels.filter { key, channel in
      let isUsed = key.policy.isEmpty || policies.contains(key.policy)
      return isUsed && (key.certificate.isEmpty || certificates.contains(key.certificate)) || !channel.isIdle
    }
  }
}
