import Testing

@testable import KubernetesStore

@Suite struct WatchEventTests {
  private static let object =
    #"{"metadata":{"name":"tokens","namespace":"apps","resourceVersion":"8"},"data":{"a":"YQ=="}}"#

  private static let rows: [(String, WatchEvent)] = [
    (#"{"type":"ADDED","object":\#(object)}"#, .object(SecretObject(version: "8", entries: ["a": "YQ=="]))),
    (#"{"type":"MODIFIED","object":\#(object)}"#, .object(SecretObject(version: "8", entries: ["a": "YQ=="]))),
    (#"{"type":"DELETED","object":\#(object)}"#, .deleted),
    (#"{"type":"BOOKMARK","object":{"kind":"Secret","metadata":{"resourceVersion":"9"}}}"#, .bookmark(version: "9")),
    (#"{"type":"BOOKMARK","object":{"kind":"Secret"}}"#, .failed(.malformed("has a bookmark without a version"))),
    (#"{"type":"ERROR","object":{"kind":"Status","code":410}}"#, .expired),
    (#"{"type":"ERROR","object":{"kind":"Status","code":429}}"#, .failed(.overloaded(retryAfter: nil))),
    (#"{"type":"ERROR","object":{"kind":"Status","code":500}}"#, .failed(.broken(status: 500, retryAfter: nil))),
    (#"{"type":"ERROR","object":{}}"#, .failed(.malformed("has an error without a code"))),
    (#"{"type":"MODIFIED","object":{}}"#, .failed(.malformed("has an event of another object"))),
    (#"{"type":"DELETED","object":{}}"#, .failed(.malformed("has an event of another object"))),
    (#"{"type":"NEW","object":{}}"#, .failed(.malformed("has an unknown kind of event"))),
    (#"{"type":"MODIFIED"}"#, .failed(.malformed("is no event"))),
    ("<html>", .failed(.malformed("is no event"))),
    (String(repeating: "[", count: 100_000), .failed(.malformed("is no event"))),
  ]

  @Test(arguments: rows.indices) func `a line is one event`(row: Int) {
    let (line, event) = Self.rows[row]
    #expect(WatchEvent.parse(Array(line.utf8), name: "tokens", namespace: "apps") == event)
  }

  @Test func `a budget bounds events and bytes of a time, and begins anew after it`() {
    var budget = WatchBudget()
    for _ in 0..<WatchBudget.events {
      let isIn = budget.take(bytes: 10, now: 5)
      #expect(isIn)
    }
    let (over, later) = (budget.take(bytes: 10, now: 5), budget.take(bytes: 10, now: 5 + WatchBudget.window))
    #expect(!over && later)
    var other = WatchBudget()
    let tooMuch = other.take(bytes: WatchBudget.bytes + 1, now: 0)
    #expect(!tooMuch)
  }

  private static let second = WatchPlan.second

  @Test func `failures double the wait, up to 30 s, and a watch that lived ends it`() {
    var plan = WatchPlan()
    #expect(plan.next(isUrgent: false) == Int64.min)
    for window in [1, 2, 4, 8, 16, 30, 30] as [Int64] {
      plan.failed(now: 0, chance: 0)
      #expect(plan.next(isUrgent: false) == window * Self.second / 2)
    }
    plan.failed(now: 0, chance: 0.5)
    #expect(plan.next(isUrgent: false) == 30 * Self.second * 3 / 4)
    plan.ended(after: WatchPlan.life, now: 100, chance: 0.25)
    #expect(plan.next(isUrgent: false) == 100 + Self.second / 4)
    // One that ends at once is no better than a failure.
    for window in [1, 2, 4] as [Int64] {
      plan.ended(after: 5, now: 0, chance: 0)
      #expect(plan.next(isUrgent: false) == window * Self.second / 2)
    }
  }

  @Test func `who waits asks once a second, and nobody while the server wants quiet`() {
    var plan = WatchPlan()
    plan.began(now: 0)
    for _ in 0..<10 { plan.failed(now: 0, chance: 1) }
    #expect(plan.next(isUrgent: false) == 30 * Self.second)
    #expect(plan.next(isUrgent: true) == Self.second)
    plan.quiet(5, now: 0)
    #expect(plan.next(isUrgent: true) == 5 * Self.second)
    plan.quiet(1_000_000, now: 0)
    #expect(plan.next(isUrgent: true) == WatchPlan.longestWait)
  }

  @Test(arguments: KubernetesFailure.Verb.allCases) func `a missing right is named`(verb: KubernetesFailure.Verb) {
    let failure = KubernetesFailure.of(status: 403, retryAfter: nil, to: verb, object: "Secret \"a\" in namespace \"b\"")
    #expect("\(failure)".contains("may not \(verb.rawValue) the Secret \"a\" in namespace \"b\" (403)"))
  }
}
