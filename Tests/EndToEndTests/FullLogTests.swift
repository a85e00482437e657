import Foundation
import Glibc
import Testing

/// A log that never accepts more. Requests, reloads and the shutdown do not wait for it.
@Suite struct FullLogTests {
  /// A proxy whose standard output or error is a pipe that is full from now on.
  private final class Deaf {
    let proxy: ChildProcess
    let pipe: DeafPipe
    let folder: String
    let port: Int
    var configurationPath: String { folder + "/proxy.conf" }

    init(_ configuration: String, stream: Int32 = STDOUT_FILENO) throws {
      pipe = try DeafPipe()
      folder = try Surroundings.newFolder()
      let path = folder + "/proxy.conf"
      try ProxyProcess.write(try ProxyProcess.complete(configuration), to: path)
      proxy = try ChildProcess(Surroundings.program, ["run", "--config", path], descriptors: [stream: pipe.writeEnd])
      let line = try pipe.awaitLine("\"serving\"")
      port = try #require(line.firstMatch(of: /"addresses":\["127\.0\.0\.1:(\d+)"/).flatMap { Int($0.1) })
      try pipe.fill()
    }
    deinit { proxy.signal(SIGKILL) }

    func ask(_ target: String) throws -> Answer {
      let connection = try RawConnection(port: port)
      try connection.send(ProxyProcess.request("GET", target))
      return try connection.readAnswer()
    }

    func reload(_ configuration: String) throws {
      try ProxyProcess.write(try ProxyProcess.complete("listen: 127.0.0.1:\(port)\n" + configuration), to: configurationPath)
      proxy.signal(SIGHUP)
    }
  }

  @Test func `one SIGTERM ends a proxy that has nothing to do`() throws {
    for stream in [STDOUT_FILENO, STDERR_FILENO] {
      let file = stream == STDERR_FILENO ? "log: {file: stderr}" : ""
      let deaf = try Deaf(try Configuration.https(top: file), stream: stream)
      #expect(try deaf.ask("http://api.test/").status == 200)
      deaf.proxy.signal(SIGTERM)
      #expect(deaf.proxy.awaitEnd(seconds: 10) == .exited(0), "descriptor \(stream)")
    }
  }

  @Test func `two SIGTERM end it in the middle of an exchange`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.awaitClose])
    let deaf = try Deaf(try Configuration.https(top: "timeouts: {drain: 60s}"))
    let client = try RawConnection(port: deaf.port)
    try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
    try origin.await(name)
    deaf.proxy.signal(SIGTERM)
    #expect(deaf.proxy.awaitEnd(seconds: 1) == nil)
    deaf.proxy.signal(SIGTERM)
    #expect(deaf.proxy.awaitEnd(seconds: 10) == .exited(0))
  }

  @Test func `a reload that moves the log elsewhere comes into force as a whole, and its lines are there`() throws {
    let deaf = try Deaf(try Configuration.https())
    // This line hangs in the pipe.
    #expect(try deaf.ask("http://api.test/").status == 200)
    let log = deaf.folder + "/log"
    func text() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
    let second = "credential: second"
    try deaf.reload(
      Configuration.https(second, top: "  second:\n    bearer: {token: second-5ecret}\nlog: {file: \(log)}"))
    #expect(try eventually { text().contains("configuration reloaded") }, "\(text())")
    #expect(try deaf.ask("http://api.test/echo").received()["Authorization"] == "Bearer second-5ecret")
    #expect(try eventually { text().contains("\"path\":\"/echo\"") })
    // Back to the pipe, which is still full, and to the file again.
    try deaf.reload(Configuration.https())
    #expect(
      try eventually { try deaf.ask("http://api.test/echo").received()["Authorization"] == "Bearer \(Configuration.token)" })
    try deaf.reload(try Configuration.https(top: "log: {file: \(log)}\nunlisted_hosts: forward"))
    #expect(try eventually { text().contains("\"generation\":\"4\"") }, "\(text())")
    deaf.proxy.signal(SIGTERM)
    #expect(deaf.proxy.awaitEnd(seconds: 10) == .exited(0))
    #expect(text().contains("\"stopped\""))
  }

  @Test func `a log file that never opens holds up neither the end nor the next reload`() throws {
    let folder = try Surroundings.newFolder()
    let fifo = folder + "/fifo"
    try #require(mkfifo(fifo, 0o600) == 0)
    let reader = open(fifo, O_RDWR | O_CLOEXEC)
    let proxy = try ChildProcess(
      Surroundings.program, ["run", "--config", try configuration(folder, "log: {file: \(fifo)}")])
    defer { proxy.signal(SIGKILL) }
    var block = [UInt8](repeating: 0, count: 65536)
    var said = ""
    while !said.contains("\"serving\"") {
      let count = read(reader, &block, block.count)
      try #require(count > 0)
      said += String(decoding: block[..<count], as: UTF8.self)
    }
    // Opening a FIFO without a reader blocks, so SIGUSR1 hangs there.
    close(reader)
    proxy.signal(SIGUSR1)
    let port = try #require(said.firstMatch(of: /"addresses":\["127\.0\.0\.1:(\d+)"/).flatMap { Int($0.1) })
    let connection = try RawConnection(port: port)
    try connection.send(ProxyProcess.request("GET", "http://api.test/"))
    #expect(try connection.readAnswer().status == 200)
    // To standard output, which the harness reads.
    _ = try configuration(folder, "unlisted_hosts: forward", port: port)
    proxy.signal(SIGHUP)
    #expect(proxy.awaitLine(where: { $0.contains("configuration reloaded") }) != nil)
    proxy.signal(SIGTERM)
    #expect(proxy.awaitEnd(seconds: 10) == .exited(0))
  }

  private func configuration(_ folder: String, _ top: String, port: Int = 0) throws -> String {
    let path = folder + "/proxy.conf"
    let text = try "listen: 127.0.0.1:\(port)\n" + Configuration.https(top: top)
    try ProxyProcess.write(try ProxyProcess.complete(text), to: path)
    return path
  }

  @Test func `Ctrl-C ends a demo that nobody reads`() throws {
    let pipe = try DeafPipe()
    let demo = try ChildProcess(Surroundings.program, ["demo"], descriptors: [STDOUT_FILENO: pipe.writeEnd])
    defer { demo.signal(SIGKILL) }
    _ = try pipe.awaitLine("Ctrl-C")
    try pipe.fill()
    // The signal's handler runs right after that line.
    #expect(try eventually { try signals(demo.pid, "SigCgt", has: SIGINT) })
    demo.signal(SIGINT)
    #expect(demo.awaitEnd(seconds: 10) == .exited(0))
  }

  private func signals(_ pid: pid_t, _ row: String, has number: Int32) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix(row) }
    let mask = line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
    return mask & 1 << UInt64(number - 1) != 0
  }
}
