import CSystem
import EventIO
import Foundation
import Glibc
import Proxy
import Settings
import Testing

@testable import Operations

@Suite struct ListenerPlanTests {
  private func tcp(_ host: String, _ port: UInt16, required: Bool = false) -> ListenerSettings {
    ListenerSettings(endpoint: .tcp(host: host, port: port), clientsRequired: required)
  }

  /// Whether the kernel accepts a connection there.
  private func answers(_ address: Address) -> Bool {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(descriptor) }
    var to = sockaddr_in()
    to.sin_family = sa_family_t(AF_INET)
    to.sin_port = address.port.bigEndian
    inet_pton(AF_INET, address.isLoopbackOrUnix ? address.host : "127.0.0.1", &to.sin_addr)
    return withUnsafeBytes(of: &to) {
      connect(descriptor, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) == 0
    }
  }

  @Test func `what stays keeps its socket, also under other rules and where port 0 was written out meanwhile`() throws {
    let first = try ListenerPlan(from: [], to: [tcp("127.0.0.1", 0)])
    let socket = first.listeners[0].socket
    let same = try ListenerPlan(from: first.listeners, to: [tcp("127.0.0.1", 0)])
    #expect(same.listeners[0] === first.listeners[0])
    let required = try ListenerPlan(from: same.listeners, to: [tcp("127.0.0.1", 0, required: true)])
    #expect(required.listeners[0].socket === socket)
    #expect(required.listeners[0].settings.clientsRequired)
    let explicit = try ListenerPlan(from: required.listeners, to: [tcp("127.0.0.1", socket.address.port)])
    #expect(explicit.listeners[0].socket === socket)
    #expect(explicit.leaving.isEmpty)
  }

  @Test func `a listener on all addresses takes over from one on loopback, and the other way round`() throws {
    let first = try ListenerPlan(from: [], to: [tcp("127.0.0.1", 0)])
    let port = first.listeners[0].socket.address.port
    let wide = try ListenerPlan(from: first.listeners, to: [tcp("0.0.0.0", port)])
    #expect(wide.leaving.count == 1)
    #expect(wide.listeners[0].socket !== first.listeners[0].socket)
    first.listeners[0].socket.close()
    #expect(answers(wide.listeners[0].socket.address))
    let narrow = try ListenerPlan(from: wide.listeners, to: [tcp("127.0.0.1", port)])
    wide.listeners[0].socket.close()
    #expect(answers(narrow.listeners[0].socket.address))
  }

  @Test func `if one of several listeners cannot be bound, none is, and the old ones stay`() throws {
    let taken = try ListenerPlan(from: [], to: [tcp("127.0.0.1", 0)])
    let first = try ListenerPlan(from: [], to: [tcp("127.0.0.1", 0)])
    let port = first.listeners[0].socket.address.port
    let error = #expect(throws: StartError.self) {
      try ListenerPlan(
        from: first.listeners, to: [tcp("0.0.0.0", port), tcp("127.0.0.1", taken.listeners[0].socket.address.port)])
    }
    #expect(error?.description.contains("127.0.0.1:\(taken.listeners[0].socket.address.port)") == true)
    #expect(answers(first.listeners[0].socket.address))
  }

  @Test func `a unix socket takes another mode without being bound anew, and an unknown group leaves it alone`() throws {
    let path = NSTemporaryDirectory() + "/plan-\(UUID().uuidString.prefix(8)).sock"
    func unix(_ mode: UInt32?, group: String? = nil) -> ListenerSettings {
      ListenerSettings(endpoint: .unix(path: path, mode: mode, owner: nil, group: group))
    }
    func mode() throws -> Int? { try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int }
    let first = try ListenerPlan(from: [], to: [unix(nil)])
    #expect(try mode() == 0o600)
    let open = try ListenerPlan(from: first.listeners, to: [unix(0o666)])
    #expect(open.listeners[0].socket === first.listeners[0].socket)
    #expect(try mode() == 0o666)
    #expect(throws: StartError.self) { try ListenerPlan(from: open.listeners, to: [unix(0o640, group: "no-such-group-here")]) }
    #expect(try mode() == 0o666)
    open.takeBack()
    #expect(try mode() == 0o600)
    open.listeners[0].socket.close()
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test func `a descriptor that is no listening socket is refused`() throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(throws: StartError.self) {
      try ListenerPlan(from: [], to: [ListenerSettings(endpoint: .inherited(descriptor: ends[0]))])
    }
  }

  @Test func `a retired socket refuses new connections, and still accepts those in its queue`() throws {
    let plan = try ListenerPlan(from: [], to: [tcp("127.0.0.1", 0)])
    let socket = plan.listeners[0].socket
    #expect(answers(socket.address))
    socket.refuseNew()
    guard case .connection(let descriptor, _) = socket.accept() else {
      Issue.record("the queue was lost")
      return
    }
    close(descriptor)
    // A handshake that begins now gets no answer, so the non-blocking connect stays in progress.
    let late = csys_stream_socket(AF_INET)
    defer { close(late) }
    var to = sockaddr_in()
    to.sin_family = sa_family_t(AF_INET)
    to.sin_port = socket.address.port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr)
    let result = withUnsafeBytes(of: &to) {
      connect(late, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    #expect(result == -1)
    usleep(20_000)
    var writable = pollfd(fd: late, events: Int16(POLLOUT), revents: 0)
    #expect(poll(&writable, 1, 0) == 0)
  }
}
