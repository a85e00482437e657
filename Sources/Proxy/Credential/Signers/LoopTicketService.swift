import EventIO
import Files
import Kerberos

/// What a loop has for one service. Its timer runs while requests with a usable ticket wait for the ticket of a changed source.
final class LoopTicketService: EventHandler {
  let name: String
  var held: TicketNews.Held? { didSet { initiator = nil } }
  /// The state of keytab or ticket cache in which a ticket was fetched last, or could not be.
  var tried: FileIdentity?
  /// The owner was asked, and has not answered.
  var isAsked = false
  /// The ticket of a changed source takes longer than requests wait.
  var isOverdue = false
  var retry = Retry()
  var waiting: [Waiting] = []
  /// Length of `waiting` at which those that have left are removed from it.
  private var sweepsAt = 64
  /// Of the held ticket.
  private var initiator: (any Initiator)?
  private weak var tickets: LoopTickets?

  struct Waiting {
    weak var request: CredentialWaiter?
    let session: NegotiateSession
  }

  /// What follows a failure while there is a ticket.
  struct Retry {
    /// Monotonic milliseconds: nothing is asked before.
    var at: Int64 = 0
    /// What failed with a changed source may succeed later.
    var isWorthwhile = true
  }

  init(_ name: String, _ tickets: LoopTickets) {
    self.name = name
    self.tickets = tickets
  }

  override func expired(on loop: EventLoop) { tickets?.overdue(self) }

  func append(_ request: CredentialWaiter, _ session: NegotiateSession) {
    if waiting.count >= sweepsAt {
      waiting.removeAll { $0.request == nil }
      sweepsAt = max(64, waiting.count * 2)
    }
    waiting.append(Waiting(request: request, session: session))
  }

  /// Makes tokens with the held ticket.
  func initiator(of held: TicketNews.Held) throws(KerberosProblem) -> any Initiator {
    if let initiator { return initiator }
    let initiator = try held.ticket.initiator()
    self.initiator = initiator
    return initiator
  }
}
