import Cache
import Crypto
import Forwarding
import Routing
import Settings
import Upstreams

/// The `cache` of an entry, prepared for its requests once; immutable.
final class EntryCache: Sendable {
  let entry: String
  let rules: CacheRules
  /// Nanoseconds that a request waits for the head of another's answer.
  let patience: Int64
  /// Digest of the keys that shape requests and answers, and that tell them apart.
  private let shape: [UInt8]
  /// Reads what tells requests apart: with the entry's credential, and with none or the app's own.
  private let withCredential, withoutCredential: VariantReader

  init(_ settings: UpstreamSettings, _ rules: CacheRules, _ forwarding: ForwardingRules?) {
    entry = settings.name
    self.rules = rules
    patience = Int64(settings.timeouts.collapse) * 1_000_000
    // No secret goes out: only this digest is kept.
    let keys = [
      "\(settings.rewrite)", "\(settings.decompress)", "\(settings.requestHeaders)", "\(settings.responseHeaders)",
      "\(settings.hostHeader)", "\(settings.stripsPrefix)", settings.origin.path, "\(settings.clientAuthorization)",
      // Stored under coarser variants, an answer to one who sent a field would meet those who send none.
      "\(rules.ignored)",
    ]
    shape = SHA256.digest(parts: keys.map { Array($0.utf8) })
    withCredential = VariantReader(rules, written: forwarding?.credentialFields ?? [])
    withoutCredential = VariantReader(rules, credential: forwarding?.credentialFields ?? [])
  }

  func reader(sendsCredential: Bool) -> VariantReader { sendsCredential ? withCredential : withoutCredential }

  /// What all requests have in common that came by one match, for one origin.
  /// - Parameter canonical: see `CacheOrigins`.
  func base(match: Match, origin: OriginIdentity, canonical: [UInt8]) -> Partition.Base {
    Partition.Base(
      entry: entry, origin: canonical, trust: origin.trustDigest, certificate: origin.certificateDigest,
      rules: shape + origin.route, match: match.text, share: rules.share)
  }
}

/// Which origins the entries with a cache have: an unsafe request to one of them, by any entry, invalidates. The origins of one list
/// are the same to the store, as each of them may have answered.
final class CacheOrigins: Sendable {
  /// By `text(of:)`: the first origin of all lists that it is connected with.
  private let canonical: [[UInt8]: [UInt8]]
  /// By canonical origin: how its entries call it.
  private let authorities: [[UInt8]: Set<[UInt8]>]

  /// nil: no entry has a cache.
  init?(_ entries: [Entry]) {
    guard entries.contains(where: { $0.cache != nil }) else { return nil }
    var canonical: [[UInt8]: [UInt8]] = [:]
    for entry in entries where entry.origins != nil {
      let all = entry.writtenOrigins.map { Self.text(of: $0.identity) }
      let known = Set(all.map { canonical[$0] ?? $0 })
      guard let first = known.min(by: { $0.lexicographicallyPrecedes($1) }) else { continue }
      for (origin, its) in canonical where known.contains(its) { canonical[origin] = first }
      for origin in all { canonical[origin] = first }
    }
    var authorities: [[UInt8]: Set<[UInt8]>] = [:]
    for entry in entries where entry.cache != nil {
      guard let origin = entry.origin else { continue }
      let text = Self.text(of: origin.identity)
      var found: Set<[UInt8]> = [Array(origin.authority.text)]
      if entry.settings.hostHeader == .app {
        for match in entry.settings.matches where !match.isWildcard { found.insert(Array(match.host.utf8)) }
      }
      authorities[canonical[text] ?? text, default: []].formUnion(found)
    }
    self.canonical = canonical
    self.authorities = authorities
  }

  /// `scheme://host:port`.
  private static func text(of origin: OriginIdentity) -> [UInt8] {
    Array("\(origin.scheme)://\(origin.host):\(origin.port)".utf8)
  }

  func canonical(of origin: OriginIdentity) -> [UInt8] {
    let text = Self.text(of: origin)
    return canonical[text] ?? text
  }

  /// - Parameter canonical: see `canonical(of:)`.
  func authorities(of canonical: [UInt8]) -> Set<[UInt8]> { authorities[canonical] ?? [] }
}
