import CSystem
import EventIO
import Settings

/// The admin listener, on one loop: few and small requests, one a connection.
final class AdminServer: EventHandler {
  /// Scrapers and probes; more at once are nobody's wish.
  private static let most = 64

  let socket: ListeningSocket
  let settings: AdminSettings
  let service: Service
  private unowned let loop: EventLoop
  private var token: Token?
  private var open = 0
  private var isStopped = false

  init(_ socket: ListeningSocket, _ settings: AdminSettings, _ service: Service, _ loop: EventLoop) {
    self.socket = socket
    self.settings = settings
    self.service = service
    self.loop = loop
    super.init()
    listen()
  }

  private func listen() {
    guard token == nil, !isStopped else { return }
    token = loop.register(socket.descriptor, self, interest: CSYS_LEVEL_IN)
    if token == nil { loop.arm(self, afterMilliseconds: 100) }
  }

  /// The socket stays open: another server may take it over.
  func stop() {
    isStopped = true
    pause()
    loop.forget(self)
  }

  private func pause() {
    guard let token else { return }
    self.token = nil
    loop.withdraw(token, descriptor: socket.descriptor)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    while open < Self.most {
      switch socket.accept() {
      case .connection(let descriptor, _):
        open += 1
        AdminConnection(descriptor, self, loop).begin()
      case .none: return
      case .exhausted:
        pause()
        return loop.arm(self, afterMilliseconds: 100)
      }
    }
    pause()
  }

  override func expired(on loop: EventLoop) { listen() }

  func ended() {
    open -= 1
    listen()
  }
}
