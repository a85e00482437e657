import CSystem
import EventIO
import TLS

/// An HTTP/1.1 server on one loop, for few small requests. Holds whole messages in memory, and answers pipelined requests in
/// order.
public final class HTTPServer: EventHandler {
  public struct Limits: Sendable {
    /// Most open connections; further ones wait in the listener's queue.
    public var connections = 64
    /// Bytes.
    public var head = 32 << 10
    /// 0: bodies are neither read nor refused; the connection closes after the answer.
    public var body = 1 << 20
    /// Milliseconds within which a request must be complete, from the connection's start or the response before.
    public var patience = 75_000
    /// Whether a connection serves more than one request.
    public var persists = true
    /// With all connections in use, a further one takes the place of the oldest that does not wait for its answer.
    public var evictsIdle = false
    public init() {}
  }

  /// The answer to a head that cannot be read: a status and a text say why.
  public typealias Refusal = @Sendable (Int, String) -> ServedAnswer

  /// Takes the response, on any thread, once.
  public typealias Reply = @Sendable (ServedAnswer) -> Void
  /// Called on the server's loop; must not block.
  public typealias Service = (ServedRequest, @escaping Reply) -> Void

  let limits: Limits
  let service: Service
  let refusal: Refusal
  private let socket: ListeningSocket
  private let context: TLSContext?
  private unowned let loop: EventLoop
  private var token: Token?
  private var open = 0
  /// Only if `evictsIdle`: the oldest first.
  private var connections: [ServedConnection] = []
  private var isStopped = false

  /// Serves from the next turn of the loop, until `stop`.
  /// - Parameters:
  ///   - socket: bound and listening.
  ///   - context: for TLS; nil = clear text.
  @discardableResult
  public init(
    on loop: EventLoop, socket: ListeningSocket, context: TLSContext? = nil, limits: Limits = Limits(),
    refusal: @escaping Refusal = { ServedAnswer($0, text: "\($1)\n") }, service: @escaping Service
  ) {
    self.loop = loop
    self.socket = socket
    self.limits = limits
    self.service = service
    self.refusal = refusal
    self.context = context
    super.init()
    listen()
  }

  /// Registers the socket; tries again if the kernel has no room.
  private func listen() {
    guard token == nil, !isStopped else { return }
    token = loop.register(socket.descriptor, self, interest: CSYS_LEVEL_IN)
    if token == nil { loop.arm(self, afterMilliseconds: 100) }
  }

  /// Accepts no more connections. The socket stays open, as another server may take it over.
  public func stop() {
    isStopped = true
    pause()
    loop.forget(self)
  }

  private func pause() {
    guard let token else { return }
    self.token = nil
    loop.withdraw(token, descriptor: socket.descriptor)
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    while open < limits.connections || dispensable != nil {
      switch socket.accept() {
      case .connection(let descriptor, _):
        if open >= limits.connections { dispensable?.close() }
        begin(descriptor)
      case .none: return
      case .exhausted:
        pause()
        return loop.arm(self, afterMilliseconds: 100)
      }
    }
    pause()
  }

  private func begin(_ descriptor: Int32) {
    var tls: TLSConnection?
    if let context {
      tls = try? TLSConnection(context: context, accepting: descriptor)
      if tls == nil { return Socket.close(descriptor) }
    }
    open += 1
    let connection = ServedConnection(descriptor, tls, self, loop)
    if limits.evictsIdle { connections.append(connection) }
    connection.begin()
  }

  /// Whether no connection is open.
  public var isIdle: Bool { open == 0 }

  /// The connection that makes room: first whoever only has to close, then whoever sends nothing, then whoever reads nothing. One
  /// whose request is being answered stays.
  private var dispensable: ServedConnection? {
    for isDispensable in [\ServedConnection.isLingering, \.isReading, \.isWriting] {
      if let oldest = connections.first(where: { $0[keyPath: isDispensable] }) { return oldest }
    }
    return nil
  }

  override public func expired(on loop: EventLoop) { listen() }

  /// A connection has its answer: a further one may take its place.
  func answered() { if limits.evictsIdle { listen() } }

  func ended(_ connection: ServedConnection) {
    open -= 1
    connections.removeAll { $0 === connection }
    listen()
  }
}
