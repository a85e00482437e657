import Credentials
import EventIO

/// One loop's side of the fleet's store: passes what its owners ask to the loop that has the connection, and the replies back. Confined to
/// its loop.
final class StoreLink {
  private let executor: LoopExecutor
  /// Of the loop that has the connection.
  private let home: LoopExecutor
  private var parts: [SharedPart] = []
  private var deliveries: [UInt64: (SealedRecord.Reply) -> Void] = [:]
  private var lastTicket: UInt64 = 0
  private(set) var isConnected = false

  init(on loop: EventLoop, _ group: LoopGroup) {
    executor = loop.executor
    home = group.executors[0]
  }

  /// After its loop's desk is in place: from now on it is told what happens, and now what has happened.
  func begin(_ standing: StoreStanding) {
    let executor = executor
    home.call { loop in if standing.hasDesk(loop) { loop.resident(StoreKeeper.self).greet(executor) } }
  }

  /// - Parameter deliver: called once, on this loop, and never before this returns.
  func perform(_ command: SealedRecord.Command, under plan: StorePlan, deliver: @escaping (SealedRecord.Reply) -> Void) {
    lastTicket += 1
    let (ticket, executor) = (lastTicket, executor)
    deliveries[ticket] = deliver
    home.call { loop in
      loop.resident(StoreKeeper.self).perform(command, under: plan) { reply in
        executor.call { loop in CredentialDesk.of(loop).store.delivered(ticket, reply) }
      }
    }
  }

  private func delivered(_ ticket: UInt64, _ reply: SealedRecord.Reply) { deliveries.removeValue(forKey: ticket)?(reply) }

  /// - Parameter owner: unique in the process.
  func note(unsaved isUnsaved: Bool, of owner: UInt64) {
    home.call { loop in loop.resident(StoreKeeper.self).note(unsaved: isUnsaved, of: owner) }
  }

  // MARK: Who wants to know

  func join(_ part: SharedPart) {
    parts.append(part)
    if isConnected { part.connected() }
  }

  func leave(_ part: SharedPart) { parts.removeAll { $0 === part } }

  func connected() {
    guard !isConnected else { return }
    isConnected = true
    for part in parts { part.connected() }
  }

  func lost() {
    isConnected = false
    for part in parts { part.lost() }
  }

  /// - Parameter spread: milliseconds within which this process reads it.
  func changed(_ key: String, spread: Int64) {
    for part in parts where part.key == key { part.changed(spread: spread) }
  }
}
