import EventIO
import RESP
import RedisProtocol

/// A connection to one server, and the operations that wait for it or for its replies.
final class RedisLink {
  enum Event {
    case ready(RedisServer)
    case changed(key: [UInt8])
    /// The operation belongs to another node.
    case redirected(RedisOperation, RedisNode?, asking: Bool)
    /// The last one. Next, all that waited fails.
    case ended(RedisFailure)
  }

  let address: RedisAddress
  private(set) var server: RedisServer?
  private var connection: RedisConnection?
  private var waiting: [(operation: RedisOperation, asking: Bool)] = []
  private var asked: [RedisSession.Ticket: RedisOperation] = [:]
  private let report: (RedisLink, Event) -> Void

  init(
    to address: RedisAddress, _ session: RedisSession, _ security: RedisSecurity, timeout: Int, on loop: EventLoop,
    report: @escaping (RedisLink, Event) -> Void
  ) {
    self.address = address
    self.report = report
    connection = RedisConnection(to: address, session, security, timeout: timeout, on: loop) { [unowned self] in
      self.happened($0)
    }
  }

  /// May report the end before it returns.
  func start() { connection?.start() }

  /// Operations that have no result yet.
  var load: Int { waiting.count + asked.count }

  /// Sends the operation's command, as soon as the server is ready.
  func submit(_ operation: RedisOperation, asking: Bool = false) {
    guard server != nil, let connection else { return waiting.append((operation, asking)) }
    asked[connection.send(operation.command, asking: asking)] = operation
  }

  /// Reports nothing any more; all that waits fails.
  func close(_ reason: RedisFailure) {
    connection?.close()
    connection = nil
    failAll(reason)
  }

  private func failAll(_ reason: RedisFailure) {
    let sent = asked.sorted { $0.key < $1.key }
    let unsent = waiting
    asked = [:]
    waiting = []
    for (_, operation) in sent { operation.fail(reason, wasSent: true) }
    for (operation, _) in unsent { operation.fail(reason) }
  }

  private func happened(_ event: RedisSession.Event) {
    switch event {
    case .ready(let server):
      self.server = server
      report(self, .ready(server))
      let unsent = waiting
      waiting = []
      for (operation, asking) in unsent { submit(operation, asking: asking) }
    case .changed(let key): report(self, .changed(key: key))
    case .replied(let ticket, let value):
      guard let operation = asked.removeValue(forKey: ticket) else { return }
      switch operation.take(value) {
      case .done: break
      case .send: submit(operation)
      case .mismatch:
        connection?.close()
        ended(.unexpectedReply)
      }
    case .refused(let ticket, let refusal):
      guard let operation = asked.removeValue(forKey: ticket) else { return }
      switch refusal.kind {
      case .moved(let node): report(self, .redirected(operation, node, asking: false))
      case .ask(let node): report(self, .redirected(operation, node, asking: true))
      default: operation.fail(.refused(refusal))
      }
    case .ended(let failure): ended(failure)
    }
  }

  private func ended(_ failure: RedisFailure) {
    guard connection != nil else { return }
    connection = nil
    // Whoever asks again when it fails must find another link.
    report(self, .ended(failure))
    failAll(failure)
  }
}
