import Cache
import Forwarding
import HTTPWire
import Upstreams

/// What is stored of an origin that an unsafe request has changed is dropped at once, whichever entry the request came by (RFC 9111
/// section 4.4).
extension Request {
  /// Called for each final head, if any entry has a cache.
  func invalidate(_ origins: CacheOrigins, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) {
    guard Invalidation.happens(method: message.outbound.method, status: head.status) else { return }
    drop(origins, head, bytes, way)
  }

  @inline(never)
  private func drop(_ origins: CacheOrigins, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ way: Way) {
    guard let sent = message.head, let written = WrittenHead(sent.bytes) else { return }
    let identity = way.pool.origin.identity
    let canonical = origins.canonical(of: identity)
    let host = withoutDefaultPort(Array(written.host.bytes(in: sent.bytes)), isTLS: identity.isTLS)
    let authorities = origins.authorities(of: canonical).union([host, Array(way.pool.origin.authority.text)])
    let target = Array(written.target.bytes(in: sent.bytes))
    let said = Invalidation.paths(head, in: bytes, target: target, bases: bases(of: authorities, identity))
    // The origin may know how apps write its URLs.
    let asked = said.compactMap { way.rules.paths?.sent($0) }
    let origin = CacheDigest(parts: [canonical])
    for path in [target] + said + asked {
      services.shared.cache.invalidate(path.withUnsafeBytes { CacheTarget(origin: origin, path: $0) })
    }
  }

  /// How Location may name the origin: each authority with and without its default port, and as the app asked.
  private func bases(of authorities: Set<[UInt8]>, _ origin: OriginIdentity) -> [[UInt8]] {
    let scheme = Array((origin.isTLS ? "https://" : "http://").utf8)
    let port = Array((origin.isTLS ? ":443" : ":80").utf8)
    var bases: [[UInt8]] = []
    for authority in authorities {
      // The longer form first, as the shorter one is its beginning.
      if !authority.contains(UInt8(ascii: ":")) { bases.append(scheme + authority + port) }
      bases.append(scheme + authority)
    }
    let asked = Array(askedAuthority.utf8)
    return bases + [Array("http://".utf8) + asked, Array("https://".utf8) + asked]
  }
}
