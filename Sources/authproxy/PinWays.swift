import EventIO
import Proxy
import Routing
import Settings
import Trust

/// How `pins` reaches a server: as the configuration says, or directly. Serves nothing.
struct PinWays: Sendable {
  let snapshot: Snapshot
  private let shared: Shared
  /// Whose `via`, `bind` and `address_family` hold; nil: the file's.
  private let entry: UpstreamSettings?

  /// - Parameter path: the configuration file; nil: directly.
  init(_ path: String?, to host: String, port: UInt16) throws {
    var ways = Self.direct
    var entry: UpstreamSettings?
    if let path {
      let loaded = loadConfiguration(path)
      for error in loaded.errors { Terminal.error("\(error)") }
      guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
      ways = Self.waysAlone(settings)
      entry = Self.entry(for: host, port, in: settings)
    }
    self.entry = entry
    do { snapshot = try SnapshotBuilder(makesAuthorities: false).build(ways, generation: 1) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.badConfiguration
    }
    shared = Shared(group: LoopGroup(count: 1))
  }

  /// The entry whose requests reach this server; nil: none of them does.
  private static func entry(for host: String, _ port: UInt16, in settings: Settings) -> UpstreamSettings? {
    let named = settings.upstreams.first { upstream in
      upstream.origins.contains { $0.scheme == .https && $0.host == host && $0.port == port }
    }
    if let named { return named }
    // Below a wildcard each host is an origin of its own, and its port need not be the one that apps ask for.
    let router = Router(settings.upstreams.map(\.routed), forwardsUnlisted: false, connectAllow: [])
    let places = ([443, 80] + settings.upstreams.flatMap { $0.matches.compactMap(\.port) }).flatMap { asked in
      router.places(host: host, port: asked).filter { place in
        let origin = settings.upstreams[place.entry].origin
        return origin.host.isEmpty && origin.scheme == .https && origin.port == port
      }
    }
    // No path and no client is asked for.
    let forAll = places.first { place in
      let upstream = settings.upstreams[place.entry]
      return upstream.clients == nil && upstream.matches[place.match].pathPrefix.isEmpty
    }
    return (forAll ?? places.first).map { settings.upstreams[$0.entry] }
  }

  /// Without roots: what the server shows is judged by the command, and there is no parent.
  private static let direct = Settings(
    listeners: [],
    trust: ["default": TrustPolicy(name: "default", anchors: .only([]), evaluators: [.chain(TrustPolicy.Validation())])])

  /// Parents and their credentials, but no entry, no listener, and no token store that a running proxy may use.
  private static func waysAlone(_ settings: Settings) -> Settings {
    let credentials = settings.credentials.filter { name, _ in settings.parents.contains { $0.credential == name } }
    var ways = Settings(
      name: settings.name, listeners: [], limits: settings.limits, timeouts: settings.timeouts, credentials: credentials,
      trust: settings.trust, systemRoots: settings.systemRoots)
    ways.parents = settings.parents
    ways.ways = settings.ways
    ways.hosts = settings.hosts
    ways.outbound = settings.outbound
    return ways
  }

  /// - Parameter body: called on a loop that can open streams.
  func run(_ body: @escaping @Sendable (Worker, UpstreamSettings?) -> Void) {
    shared.group.start()
    shared.group.executors[0].call { [self] loop in
      body(Worker.install(on: loop, shared: shared, snapshot: snapshot, observer: LoopObserver()), entry)
    }
  }
}
