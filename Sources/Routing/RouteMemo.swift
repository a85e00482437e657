import HTTPWire

/// Where a client connection's last request went. The next one is compared byte by byte before anything is looked up, and routed
/// anew where one differs.
public struct RouteMemo {
  private var authority: [UInt8] = []
  private var isHTTPS = false
  /// Of the configuration: an address could be another one's by now.
  private var generation = -1
  /// Lower-case, without a trailing dot.
  public private(set) var host = ""
  public private(set) var port: UInt16 = 0
  public private(set) var routes: HostRoutes?
  /// As the app spelled it.
  public private(set) var text = ""

  public init() {}

  /// Makes the memo the target's.
  /// - Parameter generation: of the configuration that `router` is of.
  public mutating func follow(
    _ target: RequestTarget, in bytes: UnsafeRawBufferPointer, by router: Router, generation: Int
  ) {
    let authority = target.authority.bytes(in: bytes)
    if self.generation == generation, isHTTPS == target.isHTTPS, self.authority.withUnsafeBytes({ equalBytes($0, authority) }) {
      return
    }
    self.authority = Array(authority)
    isHTTPS = target.isHTTPS
    self.generation = generation
    host = normalisedHost(target.host.bytes(in: bytes))
    port = target.effectivePort
    text = String(decoding: authority, as: UTF8.self)
    routes = router.find(host: host, port: port, isHTTPS: isHTTPS)
  }
}
