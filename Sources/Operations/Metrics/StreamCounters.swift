import Proxy
import TLS
import Upstreams

/// What one loop counts of an entry's HTTP/2.
struct StreamCounters: Sendable {
  /// A code of RFC 9113 section 7. Peers may send any number; all that the RFC does not name are one, as it becomes a label.
  struct Code: Sendable, Equatable {
    private let number: UInt32
    init(_ number: UInt32) { self.number = min(number, Self.unknown) }
    private static let unknown: UInt32 = 14
    var name: String { number == Self.unknown ? "UNKNOWN" : HTTP2Failure.name(ofCode: number) }
  }
  struct Reset: Sendable, Equatable {
    var byOrigin: Bool
    var code: Code
    var by: String { byOrigin ? "origin" : "proxy" }
  }
  enum Event {
    case chosen(ApplicationProtocol)
    case reset(Reset)
    case goAway(Code)
    case ping(isAnswered: Bool)
    case abuse(HTTP2Abuse)
  }
  private(set) var protocols = Tally<ApplicationProtocol>()
  private(set) var resets = Tally<Reset>()
  /// By the code of the frame.
  private(set) var goAways = Tally<Code>()
  /// By whether it was answered.
  private(set) var pings = Tally<Bool>()
  private(set) var abuses = Tally<HTTP2Abuse>()

  mutating func note(_ event: Event) {
    switch event {
    case .chosen(let chosen): protocols.add(chosen)
    case .reset(let reset): resets.add(reset)
    case .goAway(let code): goAways.add(code)
    case .ping(let isAnswered): pings.add(isAnswered)
    case .abuse(let abuse): abuses.add(abuse)
    }
  }

  static func += (left: inout StreamCounters, right: StreamCounters) {
    left.protocols += right.protocols
    left.resets += right.resets
    left.goAways += right.goAways
    left.pings += right.pings
    left.abuses += right.abuses
  }
}
