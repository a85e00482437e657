import EventIO
import HTTPWire
import Streams

/// Makes one GET, PUT or POST over clear-text HTTP on a new connection.
public final class HTTPClient: EventHandler {
  public struct Reply: Sendable {
    public var status: Int
    public var body: [UInt8]
    public init(status: Int, body: [UInt8]) {
      self.status = status
      self.body = body
    }
    public var text: String { String(decoding: body, as: UTF8.self) }
  }
  /// Why there is no response: a clause.
  public struct Failure: Error, Sendable, CustomStringConvertible { public let description: String }

  /// The body of a request that is no GET.
  public enum Body: Sendable {
    case put([UInt8])
    case post([UInt8])

    fileprivate var method: Method { if case .put = self { .put } else { .post } }
    fileprivate var name: String { if case .put = self { "PUT" } else { "POST" } }
    fileprivate var bytes: [UInt8] {
      switch self {
      case .put(let bytes), .post(let bytes): bytes
      }
    }
  }

  private static let headLimit = 32 << 10
  private static let bodyLimit = 8 << 20

  private unowned let loop: EventLoop
  private let method: Method
  private var outbound: [UInt8]
  private var inbound: [UInt8] = []
  private var answer: (status: Int, body: BodyReader)?
  private var stream: ByteStream?
  private var race: ConnectionRace?
  private var deliver: ((Result<Reply, Failure>) -> Void)?

  /// - Parameters:
  ///   - server: a proxy, or an origin.
  ///   - target: in the form that the server expects.
  ///   - body: nil: it is a GET.
  ///   - fields: in addition to Host and Connection.
  ///   - milliseconds: for the whole exchange.
  ///   - deliver: called once, on the loop.
  @discardableResult
  public init(
    on loop: EventLoop, to server: Address, getting target: String, host: String,
    fields: [(name: String, value: String)] = [], sending body: Body? = nil, milliseconds: Int,
    deliver: @escaping (Result<Reply, Failure>) -> Void
  ) {
    self.loop = loop
    self.deliver = deliver
    method = body?.method ?? .get
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    let length = body.map { "Content-Length: \($0.bytes.count)\r\n" } ?? ""
    let head =
      "\(body?.name ?? "GET") \(target) HTTP/1.1\r\nHost: \(host)\r\n\(lines)\(length)Connection: close\r\n\r\n"
    outbound = Array(head.utf8) + (body?.bytes ?? [])
    super.init()
    loop.arm(self, afterMilliseconds: milliseconds)
    let race = ConnectionRace(on: loop, to: [server]) { self.connected($0) }
    self.race = race
    race.start()
  }

  /// Blocks until the response is there: for commands, never on a loop.
  public static func get(_ path: String, from server: Address, milliseconds: Int) -> Result<Reply, Failure> {
    ask(path, of: server, milliseconds: milliseconds)
  }

  /// Blocks until the response is there: for commands, never on a loop.
  /// - Parameter body: nil: it is a GET.
  public static func ask(
    _ path: String, of server: Address, fields: [(name: String, value: String)] = [], sending body: Body? = nil,
    milliseconds: Int
  ) -> Result<Reply, Failure> {
    let executor = LoopExecutor()
    let handover = Handover<Result<Reply, Failure>>()
    executor.start()
    executor.call { loop in
      HTTPClient(
        on: loop, to: server, getting: path, host: "localhost", fields: fields, sending: body, milliseconds: milliseconds
      ) { handover.put($0) }
    }
    return handover.take()
  }

  private func connected(_ result: Result<ConnectionRace.Winner, ConnectionRace.Failure>) {
    race = nil
    switch result {
    case .success(let connection):
      stream = ByteStream(connection)
      loop.hand(connection.token, to: self)
      proceed()
    case .failure(.system(let error)), .failure(.badSource(_, let error)): fail(Socket.text(ofError: error))
    case .failure(.outOfDescriptors): fail("out of file descriptors")
    }
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    stream?.note(events)
    proceed()
  }

  override public func expired(on loop: EventLoop) { fail("no response in time") }

  private func proceed() {
    while let stream, !outbound.isEmpty {
      switch outbound.withUnsafeBytes({ stream.write($0) }) {
      case .bytes(let count): outbound.removeFirst(count)
      case .later: return
      case .failed: return fail(Socket.text(ofError: stream.error))
      }
    }
    var space = [UInt8](repeating: 0, count: 16 << 10)
    while let stream {
      switch space.withUnsafeMutableBytes({ stream.read(into: $0) }) {
      case .bytes(let count):
        inbound += space[..<count]
        read()
      case .later: return
      case .end: return ended()
      case .truncated, .failed: return fail(Socket.text(ofError: stream.error))
      }
    }
  }

  private func read() {
    while answer == nil {
      var head = ResponseHead()
      switch inbound.withUnsafeBytes({ head.parse($0, limit: Self.headLimit) }) {
      case .incomplete: return
      case .invalid: return fail("no HTTP answer")
      case .complete: break
      }
      guard let framing = inbound.withUnsafeBytes({ try? head.framing(to: method, in: $0) }) else {
        return fail("no HTTP answer")
      }
      inbound.removeFirst(head.length)
      if !head.isInterim { answer = (head.status, BodyReader(framing, limit: Self.bodyLimit)) }
    }
    switch answer?.body.take(from: &inbound) {
    case .done: succeed()
    case .tooLarge, .malformed: fail("the response's body is too large or malformed")
    case .more, nil: break
    }
  }

  private func ended() {
    if case .untilClose? = answer?.body.framing {
      succeed()
    } else {
      fail(answer == nil ? "no HTTP answer" : "the response was cut off")
    }
  }

  private func succeed() {
    if let answer { end(.success(Reply(status: answer.status, body: answer.body.body))) }
  }
  private func fail(_ text: String) { end(.failure(Failure(description: text))) }

  private func end(_ result: Result<Reply, Failure>) {
    guard let deliver else { return }
    self.deliver = nil
    race?.cancel()
    race = nil
    loop.forget(self)
    stream?.close(on: loop)
    stream = nil
    deliver(result)
  }
}
