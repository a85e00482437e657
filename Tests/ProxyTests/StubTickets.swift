import EventIO
import Kerberos
import Synchronization

/// Tickets without a KDC. Each token is the number of its ticket, and zeros behind it.
final class StubTickets: TicketSource {
  /// Called in the credential's lane, where it may block.
  typealias Fetch = @Sendable (_ service: String, _ number: Int) throws(KerberosProblem) -> Int64

  private let fetch: Fetch
  private let tokenSize: Int
  private let fetched = Mutex<[String]>([])

  /// - Parameters:
  ///   - tokenSize: bytes of each token, if they are more than its number.
  ///   - fetch: the ticket's life in seconds.
  init(tokenSize: Int = 0, _ fetch: @escaping Fetch) {
    self.tokenSize = tokenSize
    self.fetch = fetch
  }

  /// Services, in the order of the calls.
  var calls: [String] { fetched.withLock { $0 } }

  func ticket(for service: String, isFresh: Bool) throws(KerberosProblem) -> any ServiceTicket {
    let number = fetched.withLock {
      $0.append(service)
      return $0.count
    }
    return Ticket(number: number, size: tokenSize, lifetime: try fetch(service, number))
  }

  private final class Ticket: ServiceTicket {
    let number, tokenLimit: Int
    let lifetime: Int64
    let client = "svc@R"
    let provesKey = true
    init(number: Int, size: Int, lifetime: Int64) {
      self.number = number
      tokenLimit = max(size, 16)
      self.lifetime = lifetime
    }
    func initiator() throws(KerberosProblem) -> any Initiator { Maker(number: number, size: tokenLimit) }
  }

  private final class Maker: Initiator, Authentication {
    let number, size: Int
    init(number: Int, size: Int) {
      self.number = number
      self.size = size
    }
    func authentication(binding: [UInt8]?) -> any Authentication { self }
    func step(_ input: UnsafeRawBufferPointer?) throws(KerberosProblem) -> AuthenticationStep {
      let digits = Array("\(number)".utf8)
      return AuthenticationStep(
        token: digits + Array(repeating: 0, count: size - digits.count), isComplete: false, isMutual: false)
    }
  }
}
