import Cache
import Foundation
import TLS
import Testing
import Upstreams

@testable import Operations
@testable import Proxy
@testable import Trust

/// Compares `docs/metrics.md` with the code: names, types, labels, and the values of every label with a fixed list.
@Suite struct MetricsPageTests {
  private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("docs/metrics.md")

  private struct Family: Hashable, CustomStringConvertible {
    var name, type: String
    var labels: [String]
    var description: String { "\(name){\(labels.joined(separator: ","))} \(type)" }
  }

  /// For each label of a metric: the values in the code.
  private static let values: [String: [String]] = [
    "authproxy_retries_total reason": RetryReason.allCases.map(\.rawValue),
    "authproxy_unauthorized_retries_total result": UnauthorizedResult.allCases.map(\.rawValue),
    "authproxy_redirects_total result": RedirectResult.allCases.map(\.rawValue),
    "authproxy_cache_requests_total result": CacheResult.allCases.map(\.rawValue),
    "authproxy_cache_evictions_total reason": CacheStore.Removal.allCases.filter { $0 != .replaced }.map { "\($0)" },
    "authproxy_upstream_connections state": PoolReport.State.allCases.map(\.rawValue),
    "authproxy_credential_refreshes_total result": RefreshResult.allCases.map(\.rawValue),
    "authproxy_token_store_operations_total operation": StoreOperation.allCases.map(\.rawValue),
    "authproxy_token_store_operations_total result": StoreResult.allCases.map(\.rawValue),
    "authproxy_token_claims_total result": ClaimResult.allCases.map(\.rawValue),
    "authproxy_signed_requests_total payload": SignedPayload.allCases.map(\.rawValue),
    "authproxy_challenges_total result": ChallengeResult.allCases.map(\.rawValue),
    "authproxy_upstream_protocol_connections_total protocol": ApplicationProtocol.allCases.map(\.rawValue),
    "authproxy_upstream_stream_resets_total by": [true, false].map { StreamCounters.Reset(byOrigin: $0, code: .init(0)).by },
    "authproxy_upstream_pings_total result": ["answered", "dead"],
    "authproxy_http2_abuse_total side": ["origin", "app"],
    "authproxy_http2_abuse_total kind": HTTP2Abuse.allCases.map(\.rawValue),
    "authproxy_parent_connections_total result": ParentResult.allCases.map(\.rawValue),
    "authproxy_subject_exchanges_total result": SubjectResult.allCases.map(\.rawValue),
    "authproxy_trust_failures_total reason": TrustRefusalReason.allCases.map(\.rawValue),
    "authproxy_revocation_checks_total source": RevocationCheck.Observation.Source.allCases.map(\.rawValue),
    "authproxy_revocation_checks_total result": RevocationCheck.Observation.Result.allCases.map(\.rawValue),
    "authproxy_intercept_handshakes_total result": HandshakeOutcome.allCases.map(\.rawValue),
    "authproxy_config_reloads_total result": LifecycleReport.ReloadResult.allCases.map(\.rawValue),
  ]
  /// Labels whose values come from the configuration, the version, or another page.
  private static let free: Set = [
    "upstream", "credential", "trust", "ca", "version", "code", "error", "evaluator", "listener", "parent", "origin",
  ]

  /// The cells of each row of the table whose head begins with this.
  private func rows(_ head: String) throws -> [[String]] {
    let lines = try String(contentsOf: Self.page, encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex { $0.hasPrefix("| \(head) ") })
    return lines[(start + 2)...].prefix { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  private func quoted(_ text: String) -> [String] { text.matches(of: /`([^`]+)`/).map { String($0.1) } }

  private func documented() throws -> [Family] {
    try rows("name and labels").map { cells in
      let parts = try #require(quoted(cells[0]).first).split(separator: "{")
      let labels = parts.count > 1 ? parts[1].dropLast().split(separator: ",").map(String.init) : []
      return Family(name: String(parts[0]), type: cells[1], labels: labels)
    }
  }

  /// One sample of everything, as in a scrape.
  private func scraped() -> [Family] {
    var upstream = LoopCounters.Upstream(name: "a")
    upstream.codes.add(200)
    upstream.duration.observe(1)
    upstream.connect.observe(1)
    upstream.firstByte.observe(1)
    upstream.unauthorized.add(.refreshed)
    upstream.retries.add(.status)
    upstream.note(.followed)
    upstream.note(.hit)
    upstream.nonceRetries = 1
    upstream.note(.chosen(.http2))
    upstream.note(.reset(.init(byOrigin: true, code: .init(8))))
    upstream.note(.goAway(.init(0)))
    upstream.note(.ping(isAnswered: true))
    upstream.note(.abuse(.emptyFrames))
    upstream.noteClockSkew(-7, at: 1)
    upstream.trustFailures.add(.init(evaluator: "default", reason: .expired))
    var credential = LoopCounters.Credential(name: "c")
    credential.wait.observe(1)
    credential.signed.add(.hashed)
    credential.challenges.add(.answered)
    var lifecycle = LifecycleReport()
    lifecycle.pinExpiries = [("t", 1)]
    lifecycle.proxyProtocolAddresses = ["127.0.0.1:3128"]
    lifecycle.authorityExpiries = [("0123456789abcdef", 1)]
    var figures = Figures(lifecycle: lifecycle, version: "1")
    figures.cache = StoreFigures(CacheStore(limit: 1))
    figures.counters.upstreams.append(upstream)
    credential.note(.adopted)
    figures.counters.credentials = [credential]
    figures.counters.note(.claim, .ok, nanoseconds: 1)
    figures.note(StoreReport(address: "redis://localhost:6379", isUp: true, since: 1))
    var parent = LoopCounters.Parent(name: "p")
    parent.results.add(.connected)
    parent.connect.observe(1)
    figures.counters.parents = [parent]
    figures.health.parents = [("p", true)]
    figures.health.origins = [OriginReport(upstream: "a", origin: "https://o", isUp: true)]
    figures.counters.errors.add("dns_error")
    figures.counters.handshakes.add(.full)
    figures.counters.revocation.add(.init(source: .ocsp, result: .good))
    figures.pools = [PoolReport(upstream: "a", idle: 1, active: 1, connecting: 1, certificateExpiry: 1)]
    figures.pools[0].hasStreams = true
    let login = CredentialReport.Login(isNeeded: false, time: 1, expiry: 1)
    figures.credentials = [
      CredentialReport(
        name: "c", phase: .ready, expiry: 1, login: login, certificateExpiry: 1, refreshes: [.success: 1])
    ]
    figures.credentials[0].note(generation: 1)
    figures.credentials[0].subjects = CredentialReport.Subjects(count: 1, exchanges: [.refused: 1])

    var types: [(name: String, type: String)] = []
    var labels: [String: Set<[String]>] = [:]
    for line in figures.text().split(separator: "\n") {
      if line.hasPrefix("# TYPE ") {
        let words = line.split(separator: " ")
        types.append((String(words[2]), String(words[3])))
      } else if !line.hasPrefix("#"), let family = types.last?.name {
        let found = line.matches(of: /([a-z_]+)="/).map { String($0.1) }.filter { $0 != "le" }
        labels[family, default: []].insert(found)
      }
    }
    return types.flatMap { name, type in
      (labels[name] ?? [["nothing was scraped"]]).map { Family(name: name, type: type, labels: $0) }
    }
  }

  @Test func `has every metric with its type and labels, and no other`() throws {
    let (page, code) = (Set(try documented()), Set(scraped()))
    #expect(page.subtracting(code).isEmpty, "in the page only, or otherwise")
    #expect(code.subtracting(page).isEmpty, "in the code only, or otherwise")
  }

  @Test func `has every value of every label that takes a fixed list, and no other`() throws {
    var found: Set<String> = []
    for cells in try rows("label | values") {
      // "reason of `authproxy_retries_total`"
      let key = "\(quoted(cells[0]).joined()) \(cells[0].prefix { $0 != " " })"
      let values = try #require(Self.values[key], "\(key) has no list in the code")
      #expect(Set(quoted(cells[1])) == Set(values), "\(key)")
      found.insert(key)
    }
    #expect(found == Set(Self.values.keys))
  }

  @Test func `lists the values of every label that is not free`() throws {
    for family in try documented() {
      for label in family.labels where !Self.free.contains(label) {
        #expect(Self.values["\(family.name) \(label)"] != nil, "\(family.name) \(label)")
      }
    }
  }

  @Test func `and every other page name only metrics that exist`() throws {
    let folder = Self.page.deletingLastPathComponent()
    let names = Set(try documented().map(\.name))
    var pages = [folder.deletingLastPathComponent().appendingPathComponent("README.md")]
    pages += try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }
    var count = 0
    for page in pages {
      for found in try String(contentsOf: page, encoding: .utf8).matches(of: /\b(?:authproxy|process)_[a-z_]*[a-z]\b(?!\*)/) {
        let name = String(found.output)
        let family = name.replacing(/_(?:bucket|sum|count)$/, with: "")
        #expect(names.contains(name) || names.contains(family), "\(page.lastPathComponent): \(name)")
        count += 1
      }
    }
    #expect(count > names.count)
  }
}
