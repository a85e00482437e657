import CSystem
import HTTPWire

/// Where a client connection's last request went. The next one is compared by memcmp before anything is looked up, and routed
/// anew where a byte differs.
struct RouteMemo {
  private var authority: [UInt8] = []
  private var isHTTPS = false
  /// Of the snapshot: an address could be another snapshot's by now.
  private var generation = -1
  /// Lower-case, without a trailing dot.
  private(set) var host = ""
  private(set) var port: UInt16 = 0
  private(set) var route: RouteTable.Host?
  /// As the app spelled it.
  private(set) var text = ""

  func matches(_ authority: UnsafeRawBufferPointer, isHTTPS: Bool, in snapshot: Snapshot) -> Bool {
    generation == snapshot.generation && self.isHTTPS == isHTTPS && self.authority.count == authority.count
      && self.authority.withUnsafeBytes { $0.elementsEqualFast(authority) }
  }

  mutating func remember(_ target: RequestTarget, _ bytes: UnsafeRawBufferPointer, in snapshot: Snapshot) {
    let authority = target.authority.bytes(in: bytes)
    self.authority = Array(authority)
    isHTTPS = target.isHTTPS
    generation = snapshot.generation
    host = normalised(target.host.bytes(in: bytes))
    port = target.port ?? (target.isHTTPS ? 443 : 80)
    text = String(decoding: authority, as: UTF8.self)
    route = snapshot.routes.find(host: host, port: port, isHTTPS: isHTTPS)
  }
}

/// Lower-case ASCII. HTTPWire has taken brackets and a trailing dot off.
func normalised(_ host: UnsafeRawBufferPointer) -> String {
  String(decoding: host.map { $0 >= 65 && $0 <= 90 ? $0 | 32 : $0 }, as: UTF8.self)
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  func elementsEqualFast(_ other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count, let a = baseAddress, let b = other.baseAddress else { return count == other.count }
    return memcmp(a, b, count) == 0
  }
}
