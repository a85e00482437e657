import Foundation
import Testing

/// What an app sends over HTTP/2, and what cannot be a request.
@Suite struct HTTP2RefusedRequestTests {
  private struct Row {
    let fields: [[String]]
    let status: Int
    let error: String
    let details: String
  }

  private static let rows = [
    Row(fields: HTTP2App.get("/#a"), status: 400, error: "http_request_error", details: "fragment"),
    Row(
      fields: HTTP2App.get("/", [:], [["host", "other.test"]]), status: 400, error: "http_request_error",
      details: "Host and :authority differ"),
    Row(
      fields: HTTP2App.get("/", [":method": "HEAD", ":scheme": "http"]), status: 400, error: "http_request_error",
      details: "http"),
    Row(
      fields: [[":method", "CONNECT"], [":authority", "api.test:443"]], status: 405, error: "http_request_denied",
      details: "CONNECT inside"),
    Row(
      fields: HTTP2App.get("/", [:], [["x-long", String(repeating: "x", count: 9000)]]), status: 431,
      error: "http_request_error",
      details: "too large"),
  ]

  @Test func `it is answered, logged and counted as over 1_1, and others on its connection go on`() throws {
    let origin = try HTTP2Origin()
    let top = "threads: 1\nadmin: {address: \"127.0.0.1:0\"}\nlimits: {request_head: 8KiB}"
    try withProxy(origin.interception(top: top)) { proxy throws in
      let requests = Self.rows.map(\.fields) + [HTTP2App.get("/last")]
      let seen = try HTTP2App(proxy, requests, "--until-answered")
      #expect(seen.end == "open" && seen.resets == 0, "\(seen)")
      for (index, row) in Self.rows.enumerated() {
        let head = seen.head(2 * index + 1)
        #expect(head[":status"] == "\(row.status)", "\(row): \(seen[2 * index + 1])")
        let proxyStatus = head["proxy-status"] ?? ""
        #expect(proxyStatus.contains("error=\(row.error)") && proxyStatus.contains(row.details), "\(row): \(head)")
        let isHead = row.fields[0][1] == "HEAD"
        let hasBody = seen[2 * index + 1].contains { if case .data = $0 { true } else { false } }
        #expect(hasBody != isHead && seen[2 * index + 1].last == .end, "\(row): \(seen[2 * index + 1])")
      }
      #expect(seen.head(2 * Self.rows.count + 1)[":status"] == "200")
      #expect(try origin.tell().requests.map { $0[":path"] } == ["/last"])
      for row in Self.rows {
        let line = proxy.process.awaitLine {
          $0.contains(#""status":\#(row.status)"#) && $0.contains(row.details) && $0.contains(#""protocol":"h2""#)
        }
        #expect(line?.contains(#""error":"\#(row.error)""#) == true, "\(row): \(proxy.tail)")
      }
      for (status, count) in [(400, 3), (405, 1), (431, 1)] {
        #expect(try proxy.metric(#"authproxy_requests_total{upstream="none",code="\#(status)"}"#) == Double(count), "\(status)")
      }
    }
  }
}
