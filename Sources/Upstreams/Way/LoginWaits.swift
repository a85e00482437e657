import EventIO

/// One loop's connections that wait until another one's credential was accepted or refused, or has taken too long.
final class LoginWaits: EventHandler {
  private var waiting: [LoginTrials.Key: [ParentConnection]] = [:]

  /// - Parameter until: nanoseconds of the loop's clock.
  func await(_ key: LoginTrials.Key, _ connection: ParentConnection, until: Int64, on loop: EventLoop) {
    waiting[key, default: []].append(connection)
    loop.arm(self, at: min(deadline, until))
  }

  /// A trial has taken too long: each asks again, and one of them tries.
  override func expired(on loop: EventLoop) {
    for key in Array(waiting.keys) { settled(key) }
  }

  func forget(_ connection: ParentConnection) {
    guard !waiting.isEmpty else { return }
    for (key, connections) in waiting where connections.contains(where: { $0 === connection }) {
      let rest = connections.filter { $0 !== connection }
      waiting[key] = rest.isEmpty ? nil : rest
    }
  }

  func settled(_ key: LoginTrials.Key) {
    for connection in waiting.removeValue(forKey: key) ?? [] { connection.trialSettled() }
  }
}
