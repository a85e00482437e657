import CSystem
import EventIO

/// One request over clear HTTP on a connection of its own, its answer read to the connection's end. Knows just enough to stand in
/// for an app that knows nothing of TLS and tokens.
public final class TinyClient: EventHandler {
  public struct Reply: Sendable {
    /// 0 where no answer came.
    public var status: Int
    /// The status line and the fields.
    public var head: String
    public var body: String
  }

  private static let patience = 20_000

  private var outbound: [UInt8]
  private var inbound: [UInt8] = []
  private var descriptor: Int32 = -1
  private var token: Token?
  private var deliver: ((Reply) -> Void)?
  private var race: ConnectionRace?

  /// - Parameters:
  ///   - server: a proxy, or an origin.
  ///   - request: the whole message; should say `Connection: close`.
  ///   - deliver: called once, on the loop.
  @discardableResult
  public init(on loop: EventLoop, to server: Address, request: String, deliver: @escaping (Reply) -> Void) {
    outbound = Array(request.utf8)
    self.deliver = deliver
    super.init()
    loop.arm(self, afterMilliseconds: Self.patience)
    let race = ConnectionRace(on: loop, to: [server]) { result in
      switch result {
      case .success(let connection):
        (self.descriptor, self.token) = (connection.descriptor, connection.token)
        loop.hand(connection.token, to: self)
        self.ready(0, on: loop)
      case .failure: self.end(on: loop)
      }
    }
    self.race = race
    race.start()
  }

  override public func ready(_ events: UInt32, on loop: EventLoop) {
    guard token != nil else { return }
    while !outbound.isEmpty {
      let count = outbound.withUnsafeBytes { Socket.send(descriptor, $0) }
      if count == -Int(EAGAIN) { return }
      guard count > 0 else { return end(on: loop) }
      outbound.removeFirst(count)
    }
    var space = [UInt8](repeating: 0, count: 8 << 10)
    while true {
      let count = space.withUnsafeMutableBytes { Socket.receive(descriptor, $0) }
      if count == -Int(EAGAIN) { return }
      guard count > 0 else { return end(on: loop) }
      inbound += space[..<count]
    }
  }

  override public func expired(on loop: EventLoop) { end(on: loop) }

  private func end(on loop: EventLoop) {
    guard let deliver else { return }
    self.deliver = nil
    race?.cancel()
    race = nil
    loop.forget(self)
    if let token {
      loop.retire(token)
      Socket.close(descriptor)
      self.token = nil
    }
    deliver(Self.parse(inbound))
  }

  private static func parse(_ bytes: [UInt8]) -> Reply {
    let text = String(decoding: bytes, as: UTF8.self)
    guard let blank = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) }) else {
      return Reply(status: 0, head: "", body: text)
    }
    let head = String(decoding: bytes[..<blank], as: UTF8.self)
    let words = head.split(separator: " ", maxSplits: 2)
    return Reply(
      status: words.count > 1 ? Int(words[1]) ?? 0 : 0, head: head, body: String(decoding: bytes[(blank + 4)...], as: UTF8.self)
    )
  }
}
