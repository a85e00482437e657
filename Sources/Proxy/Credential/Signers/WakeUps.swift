import EventIO

/// Resumes requests, a few per turn of the loop. Bounds how long what they waited for can hold the loop.
final class WakeUps: EventHandler {
  private static let perTurn = 64

  private unowned let loop: EventLoop
  private var requests: [CredentialWaiter] = []
  private var next = 0

  init(_ loop: EventLoop) { self.loop = loop }

  func add(_ waiting: some Sequence<CredentialWaiter>) {
    requests += waiting
    if !requests.isEmpty { loop.again(self) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    let end = min(next + Self.perTurn, requests.count)
    while next < end {
      let request = requests[next]
      next += 1
      request.preparationArrived()
    }
    if next < requests.count { return loop.again(self) }
    requests.removeAll()
    next = 0
  }
}
