import Proxy
import Testing

@testable import Operations

@Suite struct TroubleTests {
  private func request(
    _ status: Int, error: String? = nil, byProxy: Bool = true, path: String = "/", details: String? = nil
  ) -> RequestRecord {
    var record = RequestRecord()
    record.target.method = "GET"
    record.target.authority = "a.test"
    record.target.path = path
    record.answer.status = status
    record.answer.error = error
    record.answer.details = details
    record.answer.author = byProxy ? .proxy : .upstream
    return record
  }

  @Test func `what the proxy answered, what failed and what was cut is trouble, and nothing else`() {
    for (record, isTrouble) in [
      (200, nil, false, false), (404, nil, false, false), (499, nil, false, false), (500, nil, false, true),
      (503, nil, false, true),
      (403, "http_request_denied", true, true), (200, "http_response_incomplete", false, true),
      (504, "connection_read_timeout", true, true), (304, nil, false, false), (0, nil, true, false),
      // A tunnel, and OPTIONS *.
      (200, nil, true, false),
    ].map({ ((status: $0.0, error: $0.1, byProxy: $0.2), $0.3) }) as [((status: Int, error: String?, byProxy: Bool), Bool)] {
      let request = request(record.status, error: record.error, byProxy: record.byProxy)
      #expect(Trouble.isTrouble(request) == isTrouble, "\(record)")
    }
  }

  @Test(arguments: [
    ("/", "/"), ("", ""), ("*", "*"), ("/v1", "/v1"), ("/v1/", "/v1/…"), ("/bot123/sendMessage", "/bot123/…"),
    ("//x", "//…"), ("/bot123456:AAE5ecret/send", "/…"), ("/T024BE7LD", "/…"), ("/8f14e45fceea167a", "/…"),
    ("/a%3Asecret", "/…"), ("/averylongsegmentthatmaybeasecret/x", "/…"),
  ])
  func `of a path the first segment is shown, if it looks like a word`(_ path: String, _ shown: String) {
    #expect(Trouble(request(500, path: path)).shortPath == shown)
  }

  @Test func `long texts are cut`() {
    let long = String(repeating: "é", count: 10_000)
    let trouble = Trouble(request(500, path: "/" + long, details: long))
    #expect(trouble.path.utf8.count < Trouble.longestText + 8)
    #expect((trouble.details?.utf8.count ?? 0) < Trouble.longestText + 8)
  }

  private func trouble(_ path: String, at time: Int64, status: Int = 502) -> Trouble {
    var trouble = Trouble(request(status, error: "e\(status)", path: path))
    (trouble.time, trouble.ended) = (time, time)
    return trouble
  }

  @Test func `the ring keeps the last ones, the newest first`() {
    var ring = TroubleRing()
    for number in 0..<3 { ring.add(trouble("/\(number)", at: Int64(number))) }
    #expect(ring.list.map(\.path) == ["/2", "/1", "/0"])
    for number in 3..<450 { ring.add(trouble("/\(number)", at: Int64(number))) }
    #expect(ring.list.count == TroubleRing.limit)
    #expect(ring.list.map(\.path) == (250..<450).reversed().map { "/\($0)" })
  }

  @Test func `loops are merged by time, and there are never more than the limit`() {
    let lists = (0..<3).map { loop in (0..<100).reversed().map { trouble("/\(loop)", at: Int64($0 * 3 + loop)) } }
    let merged = TroubleRing.merged(lists)
    #expect(merged.count == TroubleRing.limit)
    #expect(merged.map(\.time) == (100..<300).reversed().map(Int64.init))
  }

  @Test func `groups have the same upstream, status and error, and the most frequent comes first`() {
    let all = [
      trouble("/a", at: 4, status: 403), trouble("/b", at: 3), trouble("/c", at: 2), trouble("/d", at: 1, status: 504),
    ]
    let groups = TroubleGroup.of(all)
    #expect(groups.map(\.count) == [2, 1, 1])
    #expect(groups.map(\.last.path) == ["/b", "/a", "/d"])
  }
}
