import HTTPWire
import Testing

@testable import Upstreams

/// What an answer to CONNECT means, beside what the authentication reads in it.
@Suite struct ConnectExchangeTests {
  private final class Authentication: ParentAuthentication {
    let reading: ParentReading
    let hasAnswered: Bool
    let pauseAfterRefusal: Int64?

    init(_ reading: ParentReading, hasAnswered: Bool = true, pause: Int64? = nil) {
      (self.reading, self.hasAnswered, pauseAfterRefusal) = (reading, hasAnswered, pause)
    }

    func value(for request: ParentRequest) -> ParentValue { .none }
    func read(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer) -> ParentReading { reading }
    func sizeLimit(target: Int) -> Int { 0 }
  }

  /// - Returns: the meaning, and the pause before the credential is worth another try.
  private func meaning(
    _ status: Int, _ authentication: Authentication, hasMetOtherRules: Bool = false
  ) -> (String, pause: Int64?) {
    var exchange = ConnectExchange(
      limit: 1_000, ParentLogin(version: 1, authentication), hasMetOtherRules: hasMetOtherRules)
    let reading = Array("HTTP/1.1 \(status) X\r\n\r\n".utf8).withUnsafeBytes { exchange.read($0) }
    let text =
      switch reading {
      case .incomplete: "incomplete"
      case .open: "open"
      case .challenged: "challenged"
      case .refused(.badAnswer(let why), _): "bad: \(why)"
      case .refused(.loginRefused(_, let isFinal), _): isFinal ? "login refused" : "login refused for now"
      case .refused(.refused, _): "refused"
      case .refused(.unreachable, _): "unreachable"
      case .refused(.loop, _): "loop"
      case .refused(let other, _): "\(other)"
      }
    return (text, exchange.pause)
  }

  @Test(arguments: [
    (200, "bad: no proof"), (204, "bad: no proof"), (403, "refused"), (404, "refused"), (500, "unreachable"),
    (504, "unreachable"), (508, "loop"), (302, "bad: it answered 302 to CONNECT"),
  ])
  func `only a tunnel needs a proof of the parent`(_ status: Int, _ wanted: String) {
    #expect(meaning(status, Authentication(.invalid("no proof"))).0 == wanted)
  }

  @Test func `a 401 refuses the credential only if it was presented, and for as long as its kind says`() {
    #expect(meaning(401, Authentication(.other)) == ("login refused", nil))
    #expect(meaning(401, Authentication(.other, pause: 30)) == ("login refused for now", 30))
    #expect(meaning(401, Authentication(.invalid("no proof"), pause: 30)) == ("login refused for now", 30))
    #expect(meaning(401, Authentication(.other, hasAnswered: false)) == ("refused", nil))
  }

  @Test func `other rules are met once per request`() {
    let other = Authentication(.challenge(.otherRules))
    #expect(meaning(407, other) == ("challenged", nil))
    #expect(meaning(407, other, hasMetOtherRules: true) == ("login refused for now", ParentReading.pause))
    for next in [ParentReading.Next.anyConnection, .thisConnection, .newTicket] {
      #expect(meaning(407, Authentication(.challenge(next)), hasMetOtherRules: true) == ("challenged", nil))
    }
  }
}
