import HTTPWire
import Settings

/// Finds the entry for a target: exact hosts by hash, then wildcards by their suffix, label by label; among a host's entries the
/// longest path prefix wins, and one for this client over one for all.
struct RouteTable: Sendable {
  /// The entries of one host and port, best first: longest prefix, then those for certain clients.
  final class Host: Sendable {
    let entries: [Entry]
    /// Some entry has a path prefix: ambiguous paths are refused.
    let hasPrefixes: Bool
    /// The entries' prefixes as an origin may read them, in the same order.
    private let readPrefixes: [[UInt8]]
    /// Some prefix is not what it is read as, so that a plain path may belong to it.
    private let hasEncodedPrefixes: Bool
    init(_ entries: [Entry]) {
      self.entries = entries.sorted {
        let (a, b) = ($0.settings.match.pathPrefix.utf8.count, $1.settings.match.pathPrefix.utf8.count)
        return a != b ? a > b : ($0.settings.clients != nil && $1.settings.clients == nil)
      }
      hasPrefixes = entries.contains { !$0.settings.match.pathPrefix.isEmpty }
      readPrefixes = self.entries.map { Self.read($0.settings.match.pathPrefix) }
      hasEncodedPrefixes = zip(self.entries, readPrefixes).contains { !$1.elementsEqual($0.settings.match.pathPrefix.utf8) }
    }

    private static func read(_ prefix: String) -> [UInt8] {
      var result = Array(prefix.utf8)
      Array(prefix.utf8).withUnsafeBytes { bytes in try? forEachReading(of: bytes) { result = Array($0) } }
      return result
    }

    /// - Parameter path: of the request, without its query; empty counts as `/`.
    func entry(forPath path: UnsafeRawBufferPointer, client: String?) -> Entry? {
      for entry in entries {
        if let clients = entry.settings.clients, client.map(clients.contains) != true { continue }
        if !hasPrefixes || Self.matches(path, prefix: entry.settings.match.pathPrefix) { return entry }
      }
      return nil
    }

    /// An entry that an origin may take the path for, and the path as it is read then.
    struct OtherReading {
      /// nil: none.
      var entry: Entry?
      /// Printable ASCII.
      var path: String
    }

    /// A reading of the path (see `forEachReading`) that leads elsewhere than to `found`, where the path leads as it is written.
    /// - Parameter isPlain: nothing in the path is encoded, and it has no parameters.
    /// - Throws: `ambiguousPath`.
    func reading(
      of path: UnsafeRawBufferPointer, notFor found: Entry?, client: String?, isPlain: Bool
    ) throws(HeadError) -> OtherReading? {
      if isPlain, !hasEncodedPrefixes { return nil }
      var other: OtherReading?
      try forEachReading(of: path) { read in
        let entry = self.entry(forReading: read, client: client)
        guard entry !== found else { return }
        let shown = read.map { $0 > 0x20 && $0 < 0x7f ? $0 : UInt8(ascii: "?") }
        other = OtherReading(entry: entry, path: String(decoding: shown, as: UTF8.self))
      }
      return other
    }

    private func entry(forReading path: UnsafeRawBufferPointer, client: String?) -> Entry? {
      var best: (entry: Entry, length: Int)?
      for (entry, prefix) in zip(entries, readPrefixes) {
        if let clients = entry.settings.clients, client.map(clients.contains) != true { continue }
        // The longest prefix as it is written need not be the longest as it is read.
        guard prefix.count > best?.length ?? -1, prefix.withUnsafeBytes({ Self.matches(path, $0) }) else { continue }
        best = (entry, prefix.count)
      }
      return best?.entry
    }

    /// Prefixes match whole segments: `/v1` matches `/v1` and `/v1/x`, not `/v10`.
    static func matches(_ path: UnsafeRawBufferPointer, prefix: String) -> Bool {
      var prefix = prefix
      return prefix.withUTF8 { matches(path, UnsafeRawBufferPointer($0)) }
    }

    private static func matches(_ path: UnsafeRawBufferPointer, _ prefix: UnsafeRawBufferPointer) -> Bool {
      if prefix.isEmpty { return true }
      guard path.count >= prefix.count, path[..<prefix.count].elementsEqual(prefix) else { return false }
      return path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/")
    }
  }

  private struct Key: Hashable {
    var host: String
    var port: UInt16
    var https: Bool
  }

  private let exact: [Key: Host]
  private let wildcard: [Key: Host]

  init(_ entries: [Entry]) {
    var exact: [Key: [Entry]] = [:]
    var wildcard: [Key: [Entry]] = [:]
    for entry in entries {
      let match = entry.settings.match
      // No port in `match`: 80, and 443 for https:// targets.
      let keys =
        match.port.map { port in [false, true].map { Key(host: match.host, port: port, https: $0) } }
        ?? [Key(host: match.host, port: 80, https: false), Key(host: match.host, port: 443, https: true)]
      for key in keys {
        if match.isWildcard { wildcard[key, default: []].append(entry) } else { exact[key, default: []].append(entry) }
      }
    }
    self.exact = exact.mapValues(Host.init)
    self.wildcard = wildcard.mapValues(Host.init)
  }

  /// - Parameter host: lower-case, without a trailing dot.
  func find(host: String, port: UInt16, isHTTPS: Bool) -> Host? {
    var key = Key(host: host, port: port, https: isHTTPS)
    if let found = exact[key] { return found }
    if wildcard.isEmpty { return nil }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
      rest = rest[rest.index(after: dot)...]
      key.host = String(rest)
      if let found = wildcard[key] { return found }
    }
    return nil
  }
}
