import CSystem
import EventIO
import HTTPWire
import TLS

/// One connection of a `DemoServer`; kept alive by its registration.
final class ServerConnection: EventHandler {
  private static let headLimit = 32 << 10
  private static let bodyLimit = 1 << 20

  private let descriptor: Int32
  private let tls: TLSConnection?
  private let responder: Responder
  private var token: Token?
  private var isSecured = false
  private var inbound: [UInt8] = []
  private var outbound: [UInt8] = []
  private var closesAfterAnswer = false
  /// The request under way, as soon as its head was read.
  private var request: ServedRequest?
  private var framing = BodyFraming.none
  private var decoder = ChunkedDecoder()
  private var persists = true

  init(_ descriptor: Int32, _ tls: TLSConnection?, _ responder: Responder) {
    self.descriptor = descriptor
    self.tls = tls
    self.responder = responder
  }

  func begin(on loop: EventLoop) {
    token = loop.register(descriptor, self)
    guard token != nil else { return Socket.close(descriptor) }
    ready(0, on: loop)
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    guard token != nil else { return }
    if let tls, !isSecured {
      switch tls.handshake() {
      case .done: isSecured = true
      case .wantRead, .wantWrite: return
      case .failed: return close(on: loop)
      }
    }
    guard flush(on: loop) else { return }
    var space = [UInt8](repeating: 0, count: 16 << 10)
    while token != nil {
      let count = space.withUnsafeMutableBytes { tls?.read(into: $0) ?? Socket.receive(descriptor, $0) }
      if isBlocked(count) { return }
      guard count > 0 else { return close(on: loop) }
      inbound += space[..<count]
      serve()
      guard flush(on: loop) else { return }
    }
  }

  private func isBlocked(_ result: Int) -> Bool {
    tls == nil ? result == -Int(EAGAIN) : result == TLSIO.wantRead || result == TLSIO.wantWrite
  }

  /// - Returns: whether there is nothing left to write, and the connection still stands.
  private func flush(on loop: EventLoop) -> Bool {
    while !outbound.isEmpty {
      let count = outbound.withUnsafeBytes { tls?.write($0) ?? Socket.send(descriptor, $0) }
      if isBlocked(count) { return false }
      guard count > 0 else {
        close(on: loop)
        return false
      }
      outbound.removeFirst(count)
    }
    if closesAfterAnswer { close(on: loop) }
    return token != nil
  }

  private func close(on loop: EventLoop) {
    guard let token else { return }
    self.token = nil
    tls?.sendCloseNotify()
    loop.retire(token)
    Socket.close(descriptor)
  }

  private func serve() {
    while !closesAfterAnswer {
      if request == nil, !readHead() { return }
      guard var whole = request, readBody(&whole) else { return }
      request = nil
      let answer = responder.answer(whole)
      write(answer, isHead: whole.method == "HEAD", closes: !persists)
    }
  }

  /// - Returns: whether a head was read.
  private func readHead() -> Bool {
    guard !inbound.isEmpty else { return false }
    var head = RequestHead()
    let outcome = inbound.withUnsafeBytes { head.parse($0, limit: Self.headLimit) }
    guard outcome == .complete else {
      if outcome != .incomplete { refuse() }
      return false
    }
    let found = inbound.withUnsafeBytes { bytes -> ServedRequest? in
      guard let framing = try? head.framing(in: bytes) else { return nil }
      self.framing = framing
      persists = head.persists(in: bytes)
      if head.expectation(in: bytes) == .continue { outbound += Array("HTTP/1.1 100 Continue\r\n\r\n".utf8) }
      func text(_ slice: Slice) -> String { String(decoding: slice.bytes(in: bytes), as: UTF8.self) }
      return ServedRequest(
        method: text(head.methodText), target: text(head.target),
        fields: head.fields.map { (text($0.name).lowercased(), text($0.value)) }, body: [])
    }
    guard let found else {
      refuse()
      return false
    }
    inbound.removeFirst(head.length)
    decoder = ChunkedDecoder()
    request = found
    return true
  }

  /// - Returns: whether the body is whole.
  private func readBody(_ request: inout ServedRequest) -> Bool {
    switch framing {
    case .none, .untilClose: return true
    case .length(let length):
      guard length <= Self.bodyLimit else {
        refuse()
        return false
      }
      guard inbound.count >= Int(length) else { return false }
      request.body = Array(inbound.prefix(Int(length)))
      inbound.removeFirst(Int(length))
      return true
    case .chunked:
      var bytes = inbound
      let output = bytes.withUnsafeMutableBytes { try? decoder.decode($0) }
      guard let output, request.body.count + output.payload.count <= Self.bodyLimit else {
        refuse()
        return false
      }
      request.body += bytes[output.payload.start..<output.payload.end]
      inbound.removeFirst(output.consumed)
      self.request = request
      return output.state == .done
    }
  }

  private func refuse() {
    write(
      ServedAnswer(400, "Bad Request", json: ["error": .string("this request cannot be read")]), isHead: false, closes: true)
  }

  private func write(_ answer: ServedAnswer, isHead: Bool, closes: Bool) {
    var head = "HTTP/1.1 \(answer.status) \(answer.reason)\r\n"
    for field in answer.fields { head += "\(field.name): \(field.value)\r\n" }
    head += "Content-Length: \(answer.body.count)\r\n"
    if closes { head += "Connection: close\r\n" }
    outbound += Array((head + "\r\n").utf8)
    if !isHead { outbound += answer.body }
    closesAfterAnswer = closes
  }
}
