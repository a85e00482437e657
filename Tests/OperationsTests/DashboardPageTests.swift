import Credentials
import JSON
import Proxy
import Settings
import Testing
import Trust
import Upstreams

@testable import Operations

@Suite struct DashboardPageTests {
  private static let now: Int64 = 1_800_000_000

  /// A report with so many upstreams, each with some requests.
  /// - Parameter name: of all; nil: each has its own.
  private static func report(
    _ count: Int, name: String? = nil, credentials: [CredentialReport] = [], trouble: [Trouble] = [],
    showsPaths: Bool = false, originPath: String = "", _ change: (inout Figures) -> Void = { _ in }
  ) -> StatusReport {
    let upstreams = (0..<count).map { index in
      UpstreamSettings(
        name: name ?? "u\(index).test", match: .init(host: "u\(index).test", isWildcard: false),
        origin: .init(scheme: .https, host: "origin\(index).test", port: 443, path: originPath), timeouts: Timeouts())
    }
    var lifecycle = LifecycleReport()
    lifecycle.phase = .serving
    lifecycle.started = Int(now) - 100
    var figures = Figures(lifecycle: lifecycle, version: "1.2.3")
    for (index, upstream) in upstreams.enumerated() {
      var counters = LoopCounters.Upstream(name: upstream.name)
      counters.codes.add(200, UInt64(index + 1))
      counters.codes.add(502, UInt64(index % 3))
      counters.duration.observe(Int64(index + 1) * 1_000_000)
      figures.counters.upstreams.append(counters)
      figures.pools.append(
        PoolReport(upstream: upstream.name, idle: 1, active: 0, connecting: 0, certificateExpiry: now + 90 * 86_400))
    }
    figures.credentials = credentials
    var ring = TroubleRing()
    for each in trouble.reversed() { ring.add(each) }
    figures.note(.init(trouble: ring), at: 0)
    change(&figures)
    var traffic = TrafficHistory(now: 0)
    traffic.advance(to: TrafficCounts(figures.counters), at: 5)
    let settings = Settings(listeners: [], upstreams: upstreams)
    return StatusReport(
      figures, settings: settings, traffic: traffic, load: [0.3], revocation: [], showsPaths: showsPaths, now: now,
      monotonic: 1_000_000_000_000)
  }

  private static func page(_ report: StatusReport, _ query: String = "") -> String {
    String(decoding: DashboardPage(report, PageQuery(query)).html(), as: UTF8.self)
  }

  private static func rows(_ page: String) -> [String] {
    page.matches(of: /<tr id="u\d+"><th scope="row"><bdi>([^<]*)</).map { String($0.1) }
  }

  private static func trouble(_ path: String, details: String = "") -> Trouble {
    var record = RequestRecord()
    record.target.method = "GET"
    record.target.authority = "a.test"
    record.target.path = path
    record.answer.status = 502
    record.answer.details = details
    return Trouble(record)
  }

  @Test func `a usual page is small, and its parts are there without a script`() {
    let credentials = (0..<8).map { CredentialReport(name: "c\($0)", phase: .ready, version: 1, expiry: Self.now + 600) }
    let page = Self.page(Self.report(20, credentials: credentials, trouble: (0..<200).map { Self.trouble("/\($0)/x") }))
    #expect(page.utf8.count < 80 << 10, "\(page.utf8.count)")
    for part in [
      "id=\"upstreams\"", "id=\"credentials\"", "id=\"trust\"", "id=\"trouble\"",
      "<noscript><meta http-equiv=\"refresh\" content=\"5\">",
    ] {
      #expect(page.contains(part), "\(part)")
    }
    #expect(Self.rows(page).count == 20)
    #expect(!page.contains("src=") && !page.contains("style=") && !page.contains(" onclick"))
    #expect(page.contains("25 of 200 rows"))
  }

  @Test func `a thousand upstreams fit, fifty at a time`() {
    let report = Self.report(1_000)
    let page = Self.page(report)
    #expect(Self.rows(page) == (0..<50).map { "u\($0).test" })
    #expect(page.utf8.count < 80 << 10 && page.contains("50 of 1000 rows"))
    #expect(Self.rows(Self.page(report, "all=1")).count == 1_000)
    #expect(Self.rows(Self.page(report, "q=u99")).count == 11)
    #expect(Self.rows(Self.page(report, "q=ORIGIN7.")) == ["u7.test"])
    #expect(Self.rows(Self.page(report, "sort=-good")).prefix(2) == ["u999.test", "u998.test"])
    #expect(Self.rows(Self.page(report, "sort=good")).prefix(2) == ["u0.test", "u1.test"])
    #expect(Self.rows(Self.page(report, "sort=-name")).first == "u999.test")
    #expect(
      Self.rows(Self.page(report, "sort=-failed")).prefix(20).allSatisfy {
        Int($0.dropFirst().dropLast(5)).map { $0 % 3 == 2 } == true
      })
    #expect(Self.page(report, "q=nothing").contains("No upstream matches."))
  }

  @Test func `each column can be sorted by, both ways`() {
    let report = Self.report(5)
    for column in PageQuery.Column.allCases {
      for order in ["", "-"] {
        let page = Self.page(report, "sort=\(order)\(column.rawValue)")
        #expect(Set(Self.rows(page)).count == 5, "\(column)")
        #expect(page.contains("aria-sort=\"\(order.isEmpty ? "ascending" : "descending")\""), "\(column)")
      }
    }
  }

  @Test func `names of strangers are texts everywhere`() {
    let name = #"</td><script>alert("x")</script>'"# + "\u{202e}" + String(repeating: "x", count: 10_000)
    var credential = CredentialReport(name: name, phase: .needsOperator, reason: name)
    credential.attempts.note(.failed(name, retryIn: 1_000), at: Self.now)
    var trouble = Self.trouble("/" + name, details: name)
    (trouble.client, trouble.upstream, trouble.method, trouble.error) = (name, name, name, name)
    for query in ["", "q=%3Cscript%3E%22", "all=1"] {
      let report = Self.report(1, name: name, credentials: [credential], trouble: [trouble], showsPaths: true) {
        $0.lifecycle.reloaded(.failure, errors: [name], at: Self.now)
        $0.lifecycle.pinExpiries = [(name, 1)]
        $0.health.origins = [OriginReport(upstream: name, origin: name, isUp: false)]
        $0.health.parents = [(name, false)]
        $0.counters.upstreams[2].note(.init(evaluator: name, reason: .revoked), at: 1)
        $0.pools[0].certificateExpiry = 1
      }
      let page = Self.page(report, query)
      #expect(page.matches(of: /<script/).count == 1 && !page.contains("\u{202e}"))
      #expect(page.utf8.count < 80 << 10)
      // The same is valid JSON.
      #expect(throws: Never.self) { try JSONParser.parse(report.json()) }
    }
  }

  @Test func `paths are whole for readers of a unix socket alone`() {
    let trouble = [Self.trouble("/bot-5ecret/send")]
    #expect(Self.page(Self.report(1, trouble: trouble, showsPaths: true)).contains("/bot-5ecret/send"))
    let page = Self.page(Self.report(1, trouble: trouble))
    #expect(page.contains("a.test/bot-5ecret/…") && !page.contains("/send"))
    #expect(!String(decoding: Self.report(1, trouble: trouble).json(), as: UTF8.self).contains("/send"))
  }

  @Test func `an origin's path is whole for readers of a unix socket alone, too`() {
    let whole = Self.report(1, showsPaths: true, originPath: "/services/T1/5ecret")
    #expect(Self.page(whole).contains("https://origin0.test/services/T1/5ecret"))
    let report = Self.report(1, originPath: "/services/T1/5ecret")
    #expect(Self.page(report).contains("https://origin0.test/services/…"))
    #expect(Self.page(report, "q=5ecret").contains("No upstream matches."))
    for text in [Self.page(report), String(decoding: report.json(), as: UTF8.self)] { #expect(!text.contains("T1")) }
    #expect(String(decoding: report.json(), as: UTF8.self).contains("https://origin0.test/services/…"))
  }

  @Test func `what a reader has chosen stays chosen when it filters`() {
    let page = Self.page(Self.report(60), "sort=-rate&span=6h&all=1")
    for (name, value) in [("sort", "-rate"), ("span", "6h"), ("all", "1")] {
      #expect(page.contains("<input type=\"hidden\" name=\"\(name)\" value=\"\(value)\">"), "\(name)")
    }
  }

  @Test(arguments: [("%41b", "Ab"), ("a+b", "a b"), ("%+5", "% 5"), ("%4", "%4"), ("%", "%"), ("%zz", "%zz"), ("%C3%A9", "é")])
  func `a filter is decoded as browsers encode it`(_ text: String, _ filter: String) {
    let query = PageQuery("q=\(text)")
    #expect(query.filter == filter)
    #expect(PageQuery(String(query.text.dropFirst())) == query)
  }

  @Test func `states of credentials in words`() {
    func report(_ phase: CredentialReport.Phase, version: UInt64 = 1, _ change: (inout CredentialReport) -> Void = { _ in })
      -> CredentialReport
    {
      var report = CredentialReport(name: "c", phase: phase, version: version)
      change(&report)
      return report
    }
    for (credential, state, advice) in [
      (report(.ready), "fresh", nil), (report(.empty, version: 0), "not used yet", nil),
      (report(.empty), "expired; the next request refreshes it", nil), (report(.refreshing), "refreshing", nil),
      (report(.needsOperator) { $0.login = .init(isNeeded: true) }, "needs you: run authproxy login c", nil),
      (report(.needsOperator), "needs an operator", "Correct the cause, then reload: systemctl reload authproxy"),
      (
        report(.failed) { $0.attempts.note(.failed("x", retryIn: 20_000), at: Self.now - 90) }, "failing for 1 m",
        "The proxy tries again."
      ),
      (
        report(.ready) { $0.attempts.note(.failed("x", retryIn: 20_000), at: Self.now - 5) }, "fresh, but failing for 5 s",
        "The proxy tries again in 15 s."
      ),
      (
        report(.ready) {
          $0.attempts.note(.failed("x", retryIn: 20_000), at: Self.now - 5)
          $0.attempts.note(.refreshed(version: 2, lifetime: 1, byRefusal: false), at: Self.now)
        }, "fresh", nil
      ),
    ] as [(CredentialReport, String, String?)] {
      let words = CredentialWords(credential, now: Self.now)
      #expect(words.state == state && words.advice == advice, "\(words)")
    }
  }

  @Test func `an origin is refused until a connection has carried a request again`() throws {
    func judged(refused: Int64, connected: Int64) throws -> StatusReport.Judgement {
      let report = Self.report(1) {
        if refused > 0 { $0.counters.upstreams[2].note(.init(evaluator: "revocation", reason: .revoked), at: refused) }
        if connected > 0 { $0.counters.upstreams[2].noteConnection(at: connected) }
      }
      return try #require(report.upstreams.last).judgement
    }
    #expect(try judged(refused: 0, connected: 0) == .trusted)
    #expect(try judged(refused: 990_000_000_000, connected: 1) == .refused(evaluator: "revocation", reason: "revoked", ago: 10))
    #expect(try judged(refused: 1, connected: 2) == .trusted)
  }

  @Test func `what needs somebody is said at the top, and nothing else`() {
    #expect(Self.page(Self.report(1)).contains("Nothing needs you."))
    let page = Self.page(
      Self.report(1) {
        $0.lifecycle.reloaded(.failure, errors: ["proxy.conf:3:1: error: unknown key"], at: Self.now - 3)
        $0.pools[0].certificateExpiry = Self.now + 86_400
      })
    #expect(page.contains("The last reload failed") && page.contains("proxy.conf:3:1: error: unknown key"))
    #expect(page.contains("Certificates end") && !page.contains("Nothing needs you."))
  }
}
