import CCurl
import CCurlShims
import EventIO
import TLS
import Trust

/// One loop's client for the proxy's own requests: libcurl, driven by the loop. netrc, proxies from the environment, redirects,
/// cookies and TLS session caching are off. Confined to its loop.
public final class FetchClient {
  private unowned let loop: EventLoop
  /// By digest of the trust policy; the empty digest for requests without one.
  private var channels: [[UInt8]: FetchChannel] = [:]
  /// Judges revocation; nil = revocation is not checked.
  public var gate: (any FetchGate)?

  /// Once per process, before any handle.
  private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  public init(loop: EventLoop) { self.loop = loop }

  /// - Parameters:
  ///   - trust: judges an https server; nil = https is not allowed.
  ///   - completion: called once, on the loop and never before this returns, unless cancelled.
  @discardableResult
  public func start(
    _ fetch: HTTPFetch, under trust: TrustMaterial?, completion: @escaping (HTTPFetch.Outcome) -> Void
  ) -> FetchTransfer {
    let digest = trust?.digest ?? []
    let channel: FetchChannel
    if let known = channels[digest] {
      channel = known
    } else {
      channel = FetchChannel(loop, isReady: Self.isReady)
      channels[digest] = channel
    }
    let transfer = FetchTransfer(fetch, trust, gate, completion)
    channel.start(transfer)
    return transfer
  }

  /// Drops the connections of policies that no configuration has any more, once they have no transfers.
  public func keepOnly(_ digests: Set<[UInt8]>) {
    channels = channels.filter { $0.key.isEmpty || digests.contains($0.key) || !$0.value.isIdle }
  }
}
