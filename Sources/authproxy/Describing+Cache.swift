import Cache
import Proxy
import Settings

extension Describing {
  private static func share(_ share: CacheRules.Share) -> String {
    let who =
      switch share {
      case .client: "an answer serves the client that asked for it"
      case .everyone: "an answer serves all clients, if its origin says so"
      case .all: "an answer serves all clients, unless it is private"
      case .credential: "an answer serves all clients, also if it is private to the credential"
      }
    return "share \(share.rawValue): \(who)"
  }

  /// The store of an entry; empty: it has none.
  static func cache(_ upstream: UpstreamSettings) -> [String] {
    guard let rules = upstream.cache else { return [] }
    return [share(rules.share), "answers of at most \(Units.text(size: rules.maxObject)), \(freshness(rules))"]
      + (rules.ignored.isEmpty ? [] : ["ignores \(rules.ignored)"])
  }

  private static func freshness(_ rules: CacheRules) -> String {
    func text(_ seconds: Int64) -> String { Units.text(duration: Int(seconds) * 1000) }
    var parts: [String] = []
    switch rules.defaultLifetime {
    case .seconds(0): parts.append("fresh for as long as they say")
    case .seconds(let seconds): parts.append("fresh for as long as they say, else for \(text(seconds))")
    case .heuristic: parts.append("fresh for as long as they say, else for a tenth of their age")
    }
    if rules.minimumLifetime > 0 { parts.append("at least for \(text(rules.minimumLifetime))") }
    if rules.staleWhileRevalidate > 0 { parts.append("sent stale for \(text(rules.staleWhileRevalidate)) while validated") }
    if rules.staleIfError > 0 { parts.append("sent stale for \(text(rules.staleIfError)) while the origin fails") }
    if !rules.honoursClientDirectives { parts.append("whatever Cache-Control the app sends") }
    return parts.joined(separator: ", ")
  }

  /// What the store has to do with one request; empty: the entry has none.
  /// - Parameters:
  ///   - client: its name; nil: unknown.
  ///   - given: the names of its fields, as they were given.
  static func cache(
    _ storing: Explanation.Storing?, _ forwarding: Explanation.Forwarded, client: String?, given: [String]
  ) -> [String] {
    guard let storing else { return [] }
    switch storing.pass {
    case .method?: return ["not looked up; if the origin answers 2xx or 3xx, what is stored for this URL is dropped"]
    case .bypass?: return ["not looked up: it has a body, Upgrade, If-Match or If-Unmodified-Since"]
    case nil: break
    }
    var lines = [share(storing.rules.share), "kept for \(partition(storing, forwarding, client: client))"]
    if !storing.telling.isEmpty {
      lines.append(
        "and for what it has in \(storing.telling.joined(separator: ", ")), and in fields that the answer's Vary names")
    } else if given.isEmpty {
      lines.append("and for what its fields say; name some with -H to see which count")
    } else {
      lines.append("whatever it has in \(given.joined(separator: ", ")), unless the answer's Vary names it")
    }
    if storing.isHead {
      lines.append("HEAD: answered from what a GET has stored, and not stored itself")
    } else if !storing.mayStore {
      lines.append("its answer is not stored: the request has no-store, or a Range")
    }
    if storing.mayCollapse {
      lines.append(
        "collapse \(storing.rules.collapse.rawValue): waits up to \(Units.text(duration: forwarding.upstream.timeouts.collapse)) "
          + "for the answer to an identical request")
    } else if !storing.isHead {
      lines.append("waits for no other request's answer")
    }
    return lines
  }

  /// Who has the stored answer in common.
  private static func partition(
    _ storing: Explanation.Storing, _ forwarding: Explanation.Forwarded, client: String?
  ) -> String {
    var parts = ["upstream \(forwarding.upstream.name)", origin(forwarding.origin)]
    if let trust = forwarding.trust { parts.append(trust == .systemDefault ? "the system's roots" : "trust \(trust.name)") }
    if forwarding.upstream.clientCertificate != nil { parts.append("its client certificate") }
    if let credential = forwarding.credential {
      parts.append(storing.sendsCredential ? "who credential \(credential.name) is" : "no credential")
    }
    if forwarding.upstream.decompress { parts.append("whether the app takes gzip") }
    if storing.rules.share == .client {
      parts.append(client.map { "client \($0)" } ?? "the app's address, or its user on a unix socket")
    }
    return parts.joined(separator: ", ")
  }
}
