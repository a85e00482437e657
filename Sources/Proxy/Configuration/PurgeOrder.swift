import Cache
import Settings

/// Which stored answers an operator wants dropped. Each part narrows; without any, all go.
public struct PurgeOrder: Sendable, Hashable {
  /// As apps ask for it; with `*` at its end, everything that begins so.
  public var url: String?
  /// Name of an entry.
  public var upstream: String?
  /// A client's name, its address, or its user id on a unix socket: one for whom answers are kept, by `share: client`.
  public var client: String?

  public init(url: String? = nil, upstream: String? = nil, client: String? = nil) {
    self.url = url
    self.upstream = upstream
    self.client = client
  }

  /// Why it cannot mean anything, as a sentence without a full stop. An order that merely finds nothing has no problem.
  public struct Problem: Error, Sendable, CustomStringConvertible {
    public let description: String
    public init(description: String) { self.description = description }
  }
}

extension Shared {
  /// Drops stored answers. What was asked for before is not stored after it. Takes some milliseconds, so it must not run on a loop.
  /// - Returns: how many answers.
  public func purge(_ order: PurgeOrder, under snapshot: Snapshot) throws(PurgeOrder.Problem) -> Int {
    let client = try order.client.map { client throws(PurgeOrder.Problem) in try Self.client(client, snapshot.settings) }
    if let name = order.upstream { try Self.check(upstream: name, snapshot.settings) }
    let targets = try order.url.map { url throws(PurgeOrder.Problem) in try PurgedTargets(url, snapshot) }
    let isMeant: @Sendable (CacheTarget, Partition) -> Bool = { target, partition in
      if let name = order.upstream, partition.base.entry != name { return false }
      if let client, partition.client != client { return false }
      guard let targets else { return true }
      return targets.contain(target.path, of: partition.base)
    }
    guard let exact = targets?.exact else { return cache.drop(.purged, meaning: isMeant) }
    return exact.reduce(0) { $0 + cache.invalidate($1, .purged) { isMeant($0.target, $0.partition) } }
  }

  private static func check(upstream name: String, _ settings: Settings) throws(PurgeOrder.Problem) {
    guard let upstream = settings.upstreams.first(where: { $0.name == name }) else {
      let hint = Suggestion.nearest(to: name, among: settings.upstreams.map(\.name)).map { " (did you mean '\($0)'?)" } ?? ""
      throw PurgeOrder.Problem(description: "there is no upstream named '\(name)'\(hint)")
    }
    if upstream.cache == nil { throw PurgeOrder.Problem(description: "upstream '\(name)' has no 'cache'") }
  }

  private static func client(_ text: String, _ settings: Settings) throws(PurgeOrder.Problem) -> Partition.Client {
    if settings.clients.contains(where: { $0.name == text }) { return .name(text) }
    if let address = IPAddress.parse(text) { return .address(address) }
    if let user = UInt32(text) { return .user(user) }
    throw PurgeOrder.Problem(description: "there is no client named '\(text)', and it is no address and no user id")
  }
}
