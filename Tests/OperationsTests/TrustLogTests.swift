import Logging
import Testing
import Trust

@testable import Operations

@Suite struct TrustLogTests {
  private let log = TrustLog(Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
  private let second: Int64 = 1_000_000_000

  private func warning(_ host: String, _ kind: TrustWarning.Kind = .pinMismatch) -> TrustWarning {
    TrustWarning(kind: kind, policy: "strict", evaluator: "pinned_public_keys", host: host, detail: "")
  }

  @Test func `a warning is logged when it begins, then once a minute with how many were held back`() {
    #expect(log.admit(warning("a.test"), at: 0) == 0)
    for time in 1...59 { #expect(log.admit(warning("a.test"), at: Int64(time) * second) == nil) }
    #expect(log.admit(warning("a.test"), at: 60 * second) == 59)
    #expect(log.admit(warning("a.test"), at: 61 * second) == nil)
    #expect(log.admit(warning("a.test"), at: 200 * second) == 1)
  }

  @Test func `another host or another kind is another warning`() {
    #expect(log.admit(warning("a.test"), at: 0) == 0)
    #expect(log.admit(warning("b.test"), at: 0) == 0)
    #expect(log.admit(warning("a.test", .revocationUnknown), at: 0) == 0)
  }

  @Test func `any number of hosts takes bounded memory`() {
    for number in 0..<5000 { #expect(log.admit(warning("h\(number).test"), at: 0) == 0) }
    #expect(log.admit(warning("h4999.test"), at: 1) == nil)
  }
}
