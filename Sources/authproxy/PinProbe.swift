import EventIO
import Streams
import TLS
import Trust
import Upstreams

/// Makes one handshake with a server, to see its certificates. Sends nothing after it.
final class PinProbe: EventHandler {
  enum Outcome: Sendable {
    /// What the server sent, and why the handshake failed after that, if it did (the server may require a client certificate).
    /// - Parameters:
    ///   - parent: name of the parent proxy behind which it is; nil: reached directly.
    ///   - alpn: what it chose of h2 and http/1.1; nil: nothing.
    case seen(PeerEvidence, parent: String?, alpn: String?, error: String?)
    case failed(String)
  }

  private let host: String
  private let port: UInt16
  private let anchors: AnchorStore
  private unowned let loop: EventLoop
  private let witness = PinReport.Witness()
  private var deliver: ((Outcome) -> Void)?
  private var dial: Dial?
  private var parent: String?
  private var stream: ByteStream?
  private var step = "the name was not resolved in time"

  init(_ host: String, _ port: UInt16, _ anchors: AnchorStore, _ loop: EventLoop, deliver: @escaping (Outcome) -> Void) {
    self.host = host
    self.port = port
    self.anchors = anchors
    self.loop = loop
    self.deliver = deliver
  }

  /// - Parameter open: begins a stream to the server by its way.
  func start(milliseconds: Int, open: (@escaping (Dial.Progress) -> Void) -> Dial) {
    loop.arm(self, afterMilliseconds: milliseconds)
    let dial = open { self.dialled($0) }
    self.dial = dial
    dial.start(for: .configuration, within: Int64(milliseconds) * 1_000_000)
  }

  private func dialled(_ progress: Dial.Progress) {
    switch progress {
    case .connecting: step = "no TCP connection in time"
    case .failed(.nameNotFound(let host)): end(.failed("no such host: \(host)"))
    case .failed(.connectFailed(let error)): end(.failed("cannot connect: \(Socket.text(ofError: error))"))
    case .failed(let error): end(.failed(error.text))
    case .connected(let connected):
      dial = nil
      let stream = connected.stream
      self.stream = stream
      parent = connected.parent?.name
      if let token = stream.token { loop.hand(token, to: self) }
      step = "the TLS handshake was not complete in time"
      do {
        var options = ClientOptions(anchors: anchors, verifier: witness)
        options.keepsSessions = false
        stream.secure(
          try TLSConnection(
            context: .client(options), over: stream.tls, descriptor: stream.descriptor, serverName: host,
            offering: .http2AndHTTP1, received: connected.rest))
      } catch { return end(.failed("\(error)")) }
      handshake()
    }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    stream?.note(events)
    handshake()
  }

  private func handshake() {
    guard let tls = stream?.tls, deliver != nil else { return }
    switch tls.handshake() {
    case .wantRead, .wantWrite: break
    case .done: end(seen(error: nil) ?? .failed("the server sent no certificate"))
    case .failed(let error): end(seen(error: error.message) ?? .failed("TLS handshake failed: \(error.message)"))
    }
  }

  private func seen(error: String?) -> Outcome? {
    witness.evidence.map { .seen($0, parent: parent, alpn: stream?.tls?.selectedALPN, error: error) }
  }

  override func expired(on loop: EventLoop) {
    // Of a parent it is known which.
    if let dial, case .parent = dial.timeUp() { step = dial.timeUp().text }
    end(seen(error: step) ?? .failed(step))
  }

  private func end(_ outcome: Outcome) {
    guard let deliver else { return }
    self.deliver = nil
    loop.forget(self)
    dial?.cancel()
    dial = nil
    stream?.close(on: loop)
    stream = nil
    deliver(outcome)
  }
}
