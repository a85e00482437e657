import HTTPWire

/// The route of a client connection's last request. The next request is compared with it byte by byte, and routed again only if
/// it differs.
public struct RouteMemo {
  private var authority: [UInt8] = []
  private var isHTTPS = false
  /// Number of the configuration, as an address could belong to another one by now.
  private var generation = -1
  /// Lower-case, without a trailing dot.
  public private(set) var host = ""
  public private(set) var port: UInt16 = 0
  public private(set) var routes: HostRoutes?
  /// As the app wrote it.
  public private(set) var text = ""

  public init() {}

  /// Stores the target's route.
  /// - Parameter generation: of `router`'s configuration.
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
