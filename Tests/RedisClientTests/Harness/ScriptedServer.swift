import EventIO
import Foundation
import Glibc
import RedisProtocol

/// Listens on 127.0.0.1, and gives each connection to a script on a thread of its own. It is no Redis: it says what the script says.
final class ScriptedServer: Sendable {
  final class Connection: Sendable {
    private let descriptor: Int32
    /// From 0.
    let number: Int
    init(_ descriptor: Int32, _ number: Int) {
      self.descriptor = descriptor
      self.number = number
    }

    /// - Returns: false: the client has closed.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        if count <= 0 { return false }
        sent += count
      }
      return true
    }
    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// What the client sends until it has said `mark`; nil: it has closed before.
    func read(until mark: String) -> String? {
      var all: [UInt8] = []
      var space = [UInt8](repeating: 0, count: 65_536)
      while true {
        let text = String(decoding: all, as: UTF8.self)
        if text.contains(mark) { return text }
        let count = recv(descriptor, &space, space.count, 0)
        if count <= 0 { return nil }
        all += space[..<count]
      }
    }

    /// Returns when the client has closed.
    func awaitEnd() { _ = read(until: "\u{0}\u{0}never\u{0}\u{0}") }

    /// Reads the greeting's last word, and answers as a server does.
    @discardableResult
    func greet(mode: String = "standalone", isNode: Bool = false) -> Bool {
      guard read(until: isNode ? "SETNAME" : "NUMSUB") != nil else { return false }
      return send(Self.hello(mode) + (isNode ? "" : Self.subscribed))
    }

    static func hello(_ mode: String = "standalone") -> String {
      "%4\r\n$7\r\nversion\r\n$3\r\n7.0\r\n$5\r\nproto\r\n:3\r\n$4\r\nmode\r\n$\(mode.count)\r\n\(mode)\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
    }
    static let subscribed =
      ">3\r\n$9\r\nsubscribe\r\n$17\r\nauthproxy:changed\r\n:1\r\n*2\r\n$17\r\nauthproxy:changed\r\n:1\r\n"
    static func reading(_ record: String) -> String { "*3\r\n$\(record.utf8.count)\r\n\(record)\r\n$1\r\n1\r\n$1\r\n1\r\n" }
  }

  let port: UInt16
  private let listener: Int32
  /// Times of the connections.
  let accepted = Monitor<[Date]>([])

  var address: RedisAddress { .tcp(host: "127.0.0.1", port: port) }

  init(_ script: @escaping @Sendable (Connection) -> Void) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
      }
    }
    guard bound else { throw RedisServerProcess.Trouble(description: "no listener") }
    self.listener = listener
    port = UInt16(bigEndian: name.sin_port)
    Thread { [accepted] in
      var number = 0
      while case let descriptor = accept(listener, nil, nil), descriptor >= 0 {
        accepted.change { $0.append(Date()) }
        let connection = Connection(descriptor, number)
        number += 1
        Thread {
          script(connection)
          close(descriptor)
        }.start()
      }
      close(listener)
    }.start()
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }
}
