import EventIO
import Streams
import TLS
import Trust

/// Makes one handshake with a server, to see its certificates. Sends nothing after it.
final class PinProbe: EventHandler {
  enum Outcome: Sendable {
    /// What the server sent, and why the handshake failed after that, if it did (the server may require a client certificate).
    case seen(PeerEvidence, error: String?)
    case failed(String)
  }

  private let host: String
  private let port: UInt16
  private let anchors: AnchorStore
  private unowned let loop: EventLoop
  private let witness = PinReport.Witness()
  private var deliver: ((Outcome) -> Void)?
  private var race: ConnectionRace?
  private var stream: ByteStream?
  private var step = "the name was not resolved in time"

  init(_ host: String, _ port: UInt16, _ anchors: AnchorStore, _ loop: EventLoop, deliver: @escaping (Outcome) -> Void) {
    self.host = host
    self.port = port
    self.anchors = anchors
    self.loop = loop
    self.deliver = deliver
  }

  func start(milliseconds: Int) {
    loop.arm(self, afterMilliseconds: milliseconds)
    if case .known(let answer) = loop.resolver.lookUp(host, for: .configuration, deliver: { self.resolved($0) }) {
      resolved(answer)
    }
  }

  private func resolved(_ answer: Resolver.Answer) {
    guard deliver != nil else { return }
    switch answer {
    case .failure(.notFound): end(.failed("no such host: \(host)"))
    case .failure(.broken(let text)): end(.failed("\(host) could not be resolved: \(text)"))
    case .failure(.overloaded): end(.failed("\(host) could not be resolved"))
    case .success(var addresses):
      for index in addresses.indices { addresses[index].port = port }
      step = "no TCP connection in time"
      let race = ConnectionRace(on: loop, to: addresses) { self.connected($0) }
      self.race = race
      race.start()
    }
  }

  private func connected(_ result: Result<ConnectionRace.Winner, ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .failure(.system(let error)), .failure(.badSource(_, let error)):
      end(.failed("cannot connect: \(Socket.text(ofError: error))"))
    case .failure(.outOfDescriptors): end(.failed("out of file descriptors"))
    case .success(let connection):
      let stream = ByteStream(connection)
      self.stream = stream
      loop.hand(connection.token, to: self)
      step = "the TLS handshake was not complete in time"
      do {
        var options = ClientOptions(anchors: anchors, verifier: witness)
        options.keepsSessions = false
        stream.secure(try TLSConnection(context: .client(options), descriptor: stream.descriptor, serverName: host))
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

  private func seen(error: String?) -> Outcome? { witness.evidence.map { .seen($0, error: error) } }

  override func expired(on loop: EventLoop) { end(seen(error: step) ?? .failed(step)) }

  private func end(_ outcome: Outcome) {
    guard let deliver else { return }
    self.deliver = nil
    loop.forget(self)
    race?.cancel()
    race = nil
    stream?.close(on: loop)
    stream = nil
    deliver(outcome)
  }
}
