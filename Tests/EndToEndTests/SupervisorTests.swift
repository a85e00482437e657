import Foundation
import Glibc
import Testing

/// systemd's side of sd_notify(3).
private final class NotifySocket {
  let path: String
  private let descriptor: Int32

  init() throws {
    path = try Surroundings.newFolder() + "/notify"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let bound = withUnsafeBytes(of: &address) { bytes in
      bytes.baseAddress.map { bind(descriptor, $0.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) } ?? -1
    }
    guard bound == 0 else { throw HarnessError("bind \(path): \(String(cString: strerror(errno)))") }
  }

  deinit { close(descriptor) }

  /// The next message's assignments.
  func next(seconds: Double = 10) throws -> [String: String] {
    var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&item, 1, Int32(seconds * 1000)) == 1 else { throw HarnessError("nothing was notified within \(seconds) s") }
    var buffer = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    var result: [String: String] = [:]
    for line in String(decoding: buffer[..<max(count, 0)], as: UTF8.self).split(separator: "\n") {
      let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
      result[pair[0]] = pair.count > 1 ? pair[1] : ""
    }
    return result
  }

  /// Sends to itself until nothing more fits, as if systemd had stopped reading.
  func fill() {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    defer { close(sender) }
    withUnsafeBytes(of: &address) { bytes in
      guard let to = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return }
      while sendto(sender, "x", 1, Int32(MSG_DONTWAIT), to, socklen_t(bytes.count)) == 1 {}
    }
  }

  /// The next message that is not a heartbeat.
  func nextState() throws -> [String: String] {
    while true {
      let message = try next()
      if message["WATCHDOG"] == nil { return message }
    }
  }
}

@Suite struct SupervisorTests {
  @Test func `systemd is told of readiness, of reloads with their time, and of the end`() throws {
    let systemd = try NotifySocket()
    let proxy = try ProxyProcess(try Configuration.https(), environment: ["NOTIFY_SOCKET": systemd.path])
    #expect(try systemd.nextState()["READY"] == "1")
    try proxy.reload(try String(contentsOfFile: proxy.configurationPath, encoding: .utf8))
    let reloading = try systemd.nextState()
    #expect(reloading["RELOADING"] == "1")
    #expect(Int64(reloading["MONOTONIC_USEC"] ?? "") ?? 0 > 0)
    #expect(try systemd.nextState()["READY"] == "1")
    try proxy.reload("listen: nonsense\n", expecting: "reload failed")
    #expect(try systemd.nextState()["RELOADING"] == "1")
    let ready = try systemd.nextState()
    #expect(ready["READY"] == "1")
    #expect(ready["STATUS"]?.contains("failed") == true)
    proxy.process.signal(SIGTERM)
    #expect(try systemd.nextState()["STOPPING"] == "1")
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
  }

  @Test func `the watchdog is fed while every loop answers, and not while one hangs`() throws {
    let systemd = try NotifySocket()
    let environment = ["NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "300000"]
    let proxy = try ProxyProcess(try Configuration.https(), environment: environment)
    defer { proxy.stop() }
    var beats = 0
    for _ in 0..<4 { beats += try systemd.next()["WATCHDOG"] == "1" ? 1 : 0 }
    #expect(beats >= 3)
    // The whole process is stopped, and so are its loops.
    proxy.process.signal(SIGSTOP)
    usleep(300_000)
    while (try? systemd.next(seconds: 0.01)) != nil {}
    #expect(throws: HarnessError.self) { try systemd.next(seconds: 0.6) }
    proxy.process.signal(SIGCONT)
    #expect(try systemd.next()["WATCHDOG"] == "1")
  }

  @Test func `a supervisor that reads nothing more holds up neither a reload nor the end`() throws {
    let systemd = try NotifySocket()
    let proxy = try ProxyProcess(try Configuration.https(), environment: ["NOTIFY_SOCKET": systemd.path])
    defer { proxy.stop() }
    systemd.fill()
    try proxy.reload(try Configuration.https(top: "unlisted_hosts: forward"))
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
  }

  @Test func `a watchdog for another process is not ours`() throws {
    let systemd = try NotifySocket()
    let environment = ["NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"]
    let proxy = try ProxyProcess(try Configuration.https(), environment: environment)
    defer { proxy.stop() }
    #expect(try systemd.next()["READY"] == "1")
    #expect(throws: HarnessError.self) { try systemd.next(seconds: 0.5) }
  }
}
