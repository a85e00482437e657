import Testing

@testable import Interception

@Suite struct RefusalMemoryTests {
  /// Outcomes at seconds, and the counts of the lines: 0 for none.
  @Test(
    arguments: [
      (
        "each minute one line",
        [("refused", 0, 1), ("refused", 1, 0), ("refused", 59, 0), ("refused", 60, 3), ("refused", 200, 1)]
      ),
      (
        "closings from the third on",
        [("closed", 0, 0), ("closed", 1, 0), ("closed", 2, 3), ("closed", 3, 0), ("closed", 63, 2)]
      ),
      (
        "a success between them starts again",
        [("closed", 0, 0), ("closed", 1, 0), ("served", 2, 0), ("closed", 3, 0), ("closed", 4, 0), ("closed", 5, 3)]
      ),
      ("an alert is told at once, among closings, too", [("closed", 0, 0), ("refused", 1, 2), ("closed", 2, 0)]),
      (
        "a success does not make the next alert a new one",
        [("refused", 0, 1), ("served", 1, 0), ("refused", 2, 0), ("refused", 61, 2)]
      ),
      ("successes are never told", [("served", 0, 0), ("served", 100, 0)]),
    ] as [(String, [(String, Int64, Int)])])
  func `what is told`(_ name: String, _ steps: [(String, Int64, Int)]) {
    var memory = RefusalMemory()
    for (word, second, count) in steps {
      let outcome: RefusalMemory.Outcome = word == "served" ? .served : word == "closed" ? .closed : .refused
      #expect(memory.note(outcome, client: "c", host: "h", at: second)?.count ?? 0 == count, "\(name): \(word) at \(second)")
    }
  }

  @Test func `a client that invents hosts gets no line for each`() {
    var memory = RefusalMemory()
    func told(_ client: String, at second: Int64) -> Int {
      (0..<200).count { memory.note(.refused, client: client, host: "h\($0).test", at: second) != nil }
    }
    #expect(told("c", at: 0) == RefusalMemory.linesOfAClient)
    #expect(told("c", at: 30) == 0)
    #expect(memory.note(.refused, client: "other", host: "x", at: 30)?.count == 1)
    #expect(told("c", at: 60) == RefusalMemory.linesOfAClient)
    #expect((0..<20).map { told("c\($0)", at: 120) }.reduce(0, +) == RefusalMemory.linesAnInterval)
  }

  @Test func `clients and hosts are told each by itself`() {
    var memory = RefusalMemory()
    for (client, host) in [("a", "x"), ("a", "y"), ("b", "x")] {
      #expect(memory.note(.refused, client: client, host: host, at: 0)?.count == 1)
      #expect(memory.note(.refused, client: client, host: host, at: 1) == nil)
    }
  }

  @Test func `memory is bounded, and the newest are remembered`() {
    var memory = RefusalMemory(capacity: 100)
    for number in 0..<10_000 {
      #expect(memory.note(.refused, client: "\(number % 7)", host: "\(number)", at: Int64(number)) != nil)
      #expect(memory.count <= 100)
    }
    #expect(memory.note(.refused, client: "\(9999 % 7)", host: "9999", at: 10_000) == nil)
    var crowd = RefusalMemory(capacity: 10)
    for number in 0..<100 { _ = crowd.note(.closed, client: "\(number)", host: "h", at: 5) }
    #expect(crowd.count <= 10)
    #expect(crowd.note(.served, client: "99", host: "h", at: 6) == nil)
    #expect(crowd.count <= 9)
  }
}
