import TLS

/// What the origins of one loop speak, as far as is known. Confined to the loop. Times are nanoseconds of the loop's clock.
final class ProtocolMemory {
  /// For how long the choice of an origin is taken for its next one.
  private static let choice: Int64 = 3_600_000_000_000
  /// For how long HTTP/2 is not offered to an origin that has asked for HTTP/1.1.
  private static let avoidance: Int64 = 600_000_000_000
  private static let capacity = 1024

  /// Whose it is, and what the operator wants.
  struct Place {
    let origin: OriginIdentity
    let isRequired: Bool
    init(_ origin: OriginIdentity, isRequired: Bool) {
      self.origin = origin
      self.isRequired = isRequired
    }
  }

  private struct Known {
    var speaksHTTP2: Bool
    /// HTTP/2 is not even offered.
    var isAvoided = false
    var until: Int64
  }
  private var known: [OriginIdentity: Known] = [:]

  func offer(_ place: Place, now: Int64) -> ALPNOffer {
    if place.isRequired { return .http2 }
    return find(place, now)?.isAvoided == true ? .http1 : .http2AndHTTP1
  }

  /// Unknown counts as HTTP/2: then a burst waits for one handshake, instead of beginning one for each request.
  func expectsHTTP2(_ place: Place, now: Int64) -> Bool {
    place.isRequired || find(place, now)?.speaksHTTP2 ?? true
  }

  private func find(_ place: Place, _ now: Int64) -> Known? {
    guard let known = known[place.origin], now < known.until else { return nil }
    return known
  }

  func note(_ place: Place, speaksHTTP2: Bool, now: Int64) {
    let isAvoided = find(place, now)?.isAvoided ?? false
    if isAvoided { return }
    store(Known(speaksHTTP2: speaksHTTP2, until: now + Self.choice), place, now)
  }

  func avoid(_ place: Place, now: Int64) {
    store(Known(speaksHTTP2: false, isAvoided: true, until: now + Self.avoidance), place, now)
  }

  private func store(_ value: Known, _ place: Place, _ now: Int64) {
    if known.count >= Self.capacity { known = known.filter { now < $0.value.until } }
    if known.count >= Self.capacity { known.removeAll() }
    known[place.origin] = value
  }
}
