import Credentials
import EventIO

/// The way to a connection: each attempt asks the pool for one, and begins when it has it.
extension Request {
  func connect() {
    guard let entry, let pool, !hasEnded else { return }
    let attempt = Attempt(self)
    self.attempt = attempt
    summary.attempts += 1
    if let authorization {
      summary.credential = authorization.name
      summary.credentialVersion = authorization.version
    }
    waitsForConnection = true
    loop.arm(timer, at: loop.now + entry.timeouts.connect + (pool.isWarm ? 0 : entry.timeouts.resolve))
    pool.serve(attempt)
    if waitsForConnection { park() }
  }

  /// After a refusal: once more, with another version.
  func send(again next: AttachedCredential) {
    attempt = nil
    authorization = next
    connect()
  }

  /// The origin did not take an expectation of ours.
  func sendWithoutExpectation() {
    attempt = nil
    connect()
  }

  /// The attempt has its connection and begins.
  func connected() {
    waitsForConnection = false
    loop.arm(timer, at: loop.now + stall)
  }

  /// Who asks for names that it chose: a client by its name, else its address.
  var asker: NameAsker { .client(summary.client.map { "name \($0)" } ?? "address \(client.peer.host)") }

  /// Where the answer will come from, for the record.
  func note(_ connection: UpstreamConnection) {
    summary.upstreamAddress = connection.address
    summary.reusedConnection = connection.isReused
    guard !connection.isReused else { return }
    summary.connectStarted = connection.began
    summary.connected = connection.connected
    summary.secured = connection.secured
  }
}
