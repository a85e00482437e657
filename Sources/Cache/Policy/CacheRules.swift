/// What an entry's `cache` says. Times are seconds. An object, as each request reads it in several places.
public final class CacheRules: Sendable {
  /// Whose requests one stored answer may serve.
  public enum Share: String, Sendable, Hashable {
    /// Its own client's: a private cache for each client.
    case client
    /// All clients of the entry, where the origin says so (RFC 9111 section 3.5).
    case everyone = "public"
    /// All clients of the entry: everything but `private`.
    case all
    /// All clients of the entry: the credential's own private cache.
    case credential
  }

  /// Freshness of answers that give none.
  public enum DefaultLifetime: Sendable, Hashable {
    case seconds(Int64)
    /// A tenth of the time since Last-Modified, at most 24 h (RFC 9111 section 4.2.2).
    case heuristic
  }

  /// Which identical requests wait for the answer of one of them.
  public enum Collapse: String, Sendable, Hashable {
    /// Those whose answer may be stored.
    case storable
    /// Also those whose answer only lacks freshness.
    case all
    case off
  }

  public let share: Share
  /// Bytes of the largest body to store.
  public let maxObject: Int
  public let defaultLifetime: DefaultLifetime
  public let minimumLifetime: Int64
  public let staleWhileRevalidate: Int64
  public let staleIfError: Int64
  public let collapse: Collapse
  public let ignored: IgnoredFields
  /// Whether Cache-Control and Pragma of requests count.
  public let honoursClientDirectives: Bool

  public init(
    share: Share = .client, maxObject: Int = 1 << 20, defaultLifetime: DefaultLifetime = .seconds(0),
    minimumLifetime: Int64 = 0, staleWhileRevalidate: Int64 = 0, staleIfError: Int64 = 0, collapse: Collapse = .storable,
    ignored: IgnoredFields = IgnoredFields(), honoursClientDirectives: Bool = true
  ) {
    self.share = share
    self.maxObject = maxObject
    self.defaultLifetime = defaultLifetime
    self.minimumLifetime = minimumLifetime
    self.staleWhileRevalidate = staleWhileRevalidate
    self.staleIfError = staleIfError
    self.collapse = collapse
    self.ignored = ignored
    self.honoursClientDirectives = honoursClientDirectives
  }

  /// A shared cache in the sense of RFC 9111: it obeys `private`, s-maxage and proxy-revalidate.
  public var isShared: Bool { share == .everyone || share == .all }
  /// One answer may serve several clients.
  public var servesSeveralClients: Bool { share != .client }
}

extension CacheRules: Hashable {
  /// All that it says.
  private var parts: [AnyHashable] {
    [
      share, maxObject, defaultLifetime, minimumLifetime, staleWhileRevalidate, staleIfError, collapse, ignored,
      honoursClientDirectives,
    ]
  }

  public static func == (one: CacheRules, other: CacheRules) -> Bool { one.parts == other.parts }
  public func hash(into hasher: inout Hasher) { hasher.combine(parts) }
}

/// Two clocks, read once for a decision.
public struct CacheTime: Sendable, Hashable {
  /// Nanoseconds of a clock that never jumps: ages and pauses.
  public var steady: Int64
  /// Unix time in seconds: compared with dates in heads.
  public var wall: Int64

  public init(steady: Int64, wall: Int64) {
    self.steady = steady
    self.wall = wall
  }
}

/// Whole seconds between two readings of the steady clock.
@inline(__always)
func seconds(from start: Int64, to end: Int64) -> Int64 { max(0, end - start) / 1_000_000_000 }
