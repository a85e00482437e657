import EventIO
import Foundation
import SmallHTTP
import Testing

/// A server on a free port of 127.0.0.1, on its own loop, which lives as long as the process.
struct Loopback {
  let address: Address
  let executor = LoopExecutor()

  init(limits: HTTPServer.Limits = .init(), service: @escaping @Sendable (ServedRequest, @escaping HTTPServer.Reply) -> Void)
    throws
  {
    let socket = try ListeningSocket(binding: try #require(Address(literal: "127.0.0.1", port: 0)))
    try socket.listen()
    address = socket.address
    executor.start()
    executor.call { loop in HTTPServer(on: loop, socket: socket, limits: limits, service: service) }
  }

  /// Answers with what it received: method, target and body.
  static func echo(limits: HTTPServer.Limits = .init()) throws -> Loopback {
    try Loopback(limits: limits) { request, reply in
      let body = String(decoding: request.body, as: UTF8.self)
      reply(ServedAnswer(200, text: "\(request.method) \(request.target) [\(body)]"))
    }
  }
}

/// A blocking socket that sends exactly what a test says.
final class RawSocket {
  private let descriptor: Int32

  init(_ address: Address) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var place = sockaddr_in()
    place.sin_family = sa_family_t(AF_INET)
    place.sin_port = address.port.bigEndian
    place.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    let connected = withUnsafeBytes(of: &place) { place in
      place.withMemoryRebound(to: sockaddr.self) {
        connect(descriptor, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(connected == 0)
  }
  deinit { close(descriptor) }

  func send(_ text: String) {
    #expect(Foundation.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL)) == text.utf8.count)
  }

  /// Reads to the server's end, or to `ending`.
  func read(until ending: String? = nil) -> String {
    var bytes: [UInt8] = []
    var space = [UInt8](repeating: 0, count: 4096)
    while ending.map({ !String(decoding: bytes, as: UTF8.self).hasSuffix($0) }) ?? true {
      let count = recv(descriptor, &space, space.count, 0)
      guard count > 0 else { break }
      bytes += space[..<count]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

func ask(_ text: String, of server: Loopback) throws -> String {
  let connection = try RawSocket(server.address)
  connection.send(text)
  return connection.read()
}
