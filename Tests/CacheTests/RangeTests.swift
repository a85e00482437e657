import Testing

@testable import Cache

@Suite("A range of a stored whole")
struct RangeTests {
  private func answer(_ request: String, size: Int = 10, answer: String = "ETag: \"a\"", status: Int = 200) -> StoredPart {
    plan(request).answer(from: facts(answer, status: status), size: size, received: noon)
  }

  @Test(
    "is answered with 206, 416 or the whole",
    arguments: [
      ("bytes=0-0", StoredPart.part(0..<1)), ("bytes=2-5", .part(2..<6)), ("Bytes=2-5", .part(2..<6)),
      ("bytes=2-", .part(2..<10)),
      ("bytes=-3", .part(7..<10)), ("bytes=-30", .part(0..<10)), ("bytes=5-100", .part(5..<10)), ("bytes= 2-5 ", .part(2..<6)),
      ("bytes=0-99999999999999999999", .part(0..<10)), ("bytes=-99999999999999999999", .part(0..<10)),
      ("bytes=10-", .unsatisfiable), ("bytes=10-20", .unsatisfiable), ("bytes=-0", .unsatisfiable),
      ("bytes=99999999999999999999-", .unsatisfiable),
      ("bytes=0-1,3-4", .whole), ("bytes=0-,0-,0-,0-", .whole), ("bytes=5-2", .whole), ("bytes=-", .whole), ("bytes=", .whole),
      ("bytes", .whole), ("items=0-1", .whole), ("bytes=a-b", .whole), ("bytes=1-2-3", .whole), ("bytes=+1-2", .whole),
      ("bytes=0-1\r\nRange: bytes=3-4", .whole), ("bytes=1 - 2", .whole), ("bytes=--1", .whole),
    ])
  func range(text: String, expected: StoredPart) {
    #expect(answer("Range: \(text)") == expected)
  }

  @Test("is none of an empty body")
  func empty() {
    #expect(answer("Range: bytes=0-", size: 0) == .unsatisfiable)
    #expect(answer("Range: bytes=-5", size: 0) == .unsatisfiable)
    #expect(answer("", size: 0) == .whole)
  }

  @Test("counts for 200 only, and behind a condition")
  func order() {
    #expect(answer("Range: bytes=0-1", status: 404) == .whole)
    #expect(answer("Range: bytes=0-1\r\nIf-None-Match: \"a\"") == .notModified)
    #expect(answer("Range: bytes=0-1\r\nIf-None-Match: \"b\"") == .part(0..<2))
  }

  @Test("with If-Range needs a strong validator")
  func ifRange() {
    let range = "Range: bytes=0-1\r\nIf-Range: "
    let dated = "ETag: \"a\"\r\nLast-Modified: \(date(-10))\r\nDate: \(date())"
    #expect(answer(range + "\"a\"", answer: dated) == .part(0..<2))
    #expect(answer(range + "\"b\"", answer: dated) == .whole)
    #expect(answer(range + "W/\"a\"", answer: "ETag: W/\"a\"") == .whole)
    #expect(answer(range + "\"a\"", answer: "ETag: W/\"a\"") == .whole)
    #expect(answer(range + date(-10), answer: dated) == .part(0..<2))
    #expect(answer(range + date(-9), answer: dated) == .whole)
    #expect(answer(range + date(0), answer: "Last-Modified: \(date())\r\nDate: \(date())") == .whole)
    #expect(answer(range + date(-10), answer: "Last-Modified: \(date(-10))") == .whole)
    #expect(answer(range + "x", answer: dated) == .whole)
    #expect(answer(range + "\"a\"\r\nIf-Range: \"a\"", answer: dated) == .whole)
  }

  /// go-proxy-cache#265, envoy#37990.
  @Test("`that nothing is stored for passes as it came: not stored, not collapsed`")
  func miss() {
    for text in ["bytes=0-1", "bytes=0-1,2-3", "x"] {
      let plan = plan("Range: \(text)")
      #expect(plan.hasRange && !plan.mayStore && !plan.mayCollapse(hasStored: false) && plan.pass == nil)
    }
    #expect(refusal("Cache-Control: max-age=60\r\nContent-Range: bytes 0-1/9", status: 206) == .status)
  }
}

@Suite("A request")
struct RequestPlanTests {
  /// pingora CVE-2025-4366, advisory-db#2322; undici#4817: only GET collapses.
  @Test("`with a body, an Upgrade or another method goes by the store`")
  func passes() {
    #expect(plan("Content-Length: 5").pass == .bypass)
    #expect(plan("Transfer-Encoding: chunked").pass == .bypass)
    #expect(plan("Content-Length: 0").pass == nil)
    #expect(plan("Upgrade: websocket\r\nConnection: upgrade").pass == .bypass)
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PURGE", "get", "QUERY"] {
      let plan = plan("", method: method)
      #expect(plan.pass == .method && !plan.mayStore && !plan.mayCollapse(hasStored: false))
    }
    #expect(plan("", method: "HEAD").pass == nil)
    #expect(!plan("", method: "HEAD").mayStore && !plan("", method: "HEAD").mayCollapse(hasStored: false))
  }

  @Test("waits for no other's answer if it wants one of its own")
  func waits() {
    #expect(plan("").mayCollapse(hasStored: false) && plan("Cache-Control: max-stale").mayCollapse(hasStored: false))
    for field in [
      "Cache-Control: no-cache", "Pragma: no-cache", "Cache-Control: no-store", "Cache-Control: max-age=5",
      "Cache-Control: min-fresh=5", "Cache-Control: only-if-cached", "If-None-Match: \"a\"", "If-Modified-Since: \(date())",
      "Range: bytes=0-1", "If-None-Match: x",
    ] {
      #expect(!plan(field).mayCollapse(hasStored: false), "\(field)")
    }
    #expect(plan("If-None-Match: x").mayCollapse(hasStored: true) && !plan("Range: bytes=0-1").mayCollapse(hasStored: true))
    #expect(!plan("", rules: CacheRules(collapse: .off)).mayCollapse(hasStored: false))
    #expect(plan("Cache-Control: no-cache", rules: CacheRules(honoursClientDirectives: false)).mayCollapse(hasStored: false))
  }
}
