import EventIO
import TLS

/// How the pool offers HTTP/2, what it knows of the origin's protocol, and which connection carries a request as a stream.
extension OriginPool {
  /// What ALPN offers on the next connection; nil: as for all 1.1 entries.
  var offer: ALPNOffer? { protocols.map { upstreams.protocols.offer($0, now: loop.now) } }

  /// Its requests share connections one after another (`StreamIdentity.isAlone`).
  var isForLoners: Bool { origin.identity.streams?.isAlone ?? false }

  /// Requests at once on one connection, by our own rules.
  var streamsOnOne: Int { isForLoners ? 1 : upstreams.rules.streams }

  /// As far as is known, the next connection will carry many requests.
  func multiplexes(_ protocols: ProtocolMemory.Place) -> Bool {
    upstreams.protocols.expectsHTTP2(protocols, now: loop.now)
  }

  /// Requests in progress that one connection can have. An origin that took none at last says nothing of its next connection.
  var streamsEach: Int {
    let most = lastPeerLimit ?? 0
    return min(upstreams.rules.streams, most > 0 ? most : 100)
  }

  /// Exchanges that can be in progress in the whole process, of which a client gets its share.
  var shareable: Int {
    guard let protocols, multiplexes(protocols) else { return capacity }
    return capacity * streamsEach
  }

  /// The origin has chosen a protocol.
  /// - Parameter isFit: false: it has chosen HTTP/2 in a way that the proxy does not accept.
  func chose(_ chosen: ApplicationProtocol, isFit: Bool) {
    guard let protocols else { return }
    if isFit {
      upstreams.protocols.note(protocols, speaksHTTP2: chosen == .http2, now: loop.now)
    } else {
      upstreams.protocols.avoid(protocols, now: loop.now)
    }
    upstreams.observer.negotiated(upstream: upstream, chosen)
  }

  /// The origin wants HTTP/1.1 for what was asked over HTTP/2.
  func wantsHTTP1() {
    guard let protocols, !protocols.isRequired else { return }
    upstreams.protocols.avoid(protocols, now: loop.now)
    for carrier in carriers { carrier.retire() }
  }

  func carrier(for exchange: Exchange) -> Carrier? {
    for carrier in carriers where carrier.hasRoom {
      if !carrier.root.isTrusted(at: loop.now), !connecting.contains(where: { $0 === carrier.root }) {
        judgeAgain(carrier.root)
      }
      // With answers at hand it is trusted again at once.
      guard carrier.root.isTrusted(at: loop.now) else { continue }
      if carrier.mayCarry(exchange, now: loop.now) { return carrier }
    }
    return nil
  }

  /// Requests elsewhere have waited long enough for a place. The connection with the fewest streams takes no more, and leaves its place
  /// when they have ended.
  func yieldPlace() {
    guard !limit.hasPlace(of: capacity), !carriers.contains(where: \.isYielding) else { return }
    carriers.lazy.filter(\.mayYield).min { $0.count < $1.count }?.yield()
  }

  /// What becomes of a connection that has no streams.
  /// - Returns: until when it is kept, in nanoseconds of the loop's clock; nil: it closes, and others have its place.
  func keepIdle() -> Int64? {
    let isWanted = !line.isEmpty || !(isRetired || isForLoners || upstreams.isDraining || othersWantPlace)
    return isWanted ? loop.now + timeouts.upstreamIdle : nil
  }

  /// The origin takes no requests now, and would take none on another connection either. If that lasts, one other is tried.
  public var isPaused: Bool {
    let paused = carriers.filter(\.isPaused)
    guard let first = paused.first else { return false }
    return paused.count > 1 || !connecting.isEmpty || !first.staysPaused
  }
}
