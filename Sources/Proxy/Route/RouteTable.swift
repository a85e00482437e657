import Settings

/// Finds the entry for a target: exact hosts by hash, then wildcards by their suffix, label by label; among a host's entries the
/// longest path prefix wins, and one for this client over one for all.
struct RouteTable: Sendable {
  /// The entries of one host and port, best first: longest prefix, then those for certain clients.
  final class Host: Sendable {
    let entries: [Entry]
    /// Some entry has a path prefix: ambiguous paths are refused.
    let hasPrefixes: Bool
    init(_ entries: [Entry]) {
      self.entries = entries.sorted {
        let (a, b) = ($0.settings.match.pathPrefix.utf8.count, $1.settings.match.pathPrefix.utf8.count)
        return a != b ? a > b : ($0.settings.clients != nil && $1.settings.clients == nil)
      }
      hasPrefixes = entries.contains { !$0.settings.match.pathPrefix.isEmpty }
    }

    /// - Parameter path: of the request, without its query; empty counts as `/`.
    func entry(forPath path: UnsafeRawBufferPointer, client: String?) -> Entry? {
      for entry in entries {
        if let clients = entry.settings.clients, client.map(clients.contains) != true { continue }
        if !hasPrefixes || Self.matches(path, prefix: entry.settings.match.pathPrefix) { return entry }
      }
      return nil
    }

    /// Prefixes match whole segments: `/v1` matches `/v1` and `/v1/x`, not `/v10`.
    static func matches(_ path: UnsafeRawBufferPointer, prefix: String) -> Bool {
      var prefix = prefix
      return prefix.withUTF8 { prefix in
        if prefix.isEmpty { return true }
        guard path.count >= prefix.count, path[..<prefix.count].elementsEqual(prefix) else { return false }
        return path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/")
      }
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
