import Foundation
import Testing

@Suite struct CommandLineTests {
  private func run(_ arguments: String...) throws -> ChildProcess.Finished {
    try ChildProcess.run(Surroundings.program, arguments)
  }

  @Test func `--version prints a version`() throws {
    let done = try run("--version")
    #expect(done.status == .exited(0))
    #expect(done.output.contains { $0.isNumber })
  }

  @Test func `--help names every command`() throws {
    let done = try run("--help")
    #expect(done.status == .exited(0))
    for command in ["run", "check", "explain", "demo"] { #expect(done.output.contains(command), "\(command)") }
  }

  @Test func `what is no command is a usage error, 64`() throws {
    #expect(try run("frobnicate").status == .exited(64))
    #expect(try run("run", "--no-such-option").status == .exited(64))
  }

  @Test func `a subcommand that is missing is a usage error, 64, with the usage on standard error`() throws {
    let done = try run()
    #expect(done.status == .exited(64))
    #expect(done.output.isEmpty, "\(done.output)")
    #expect(done.errors.contains("subcommand is missing") && done.errors.contains("Usage: authproxy"), "\(done.errors)")
  }

  @Test func `arguments arrive where /proc cannot be read`() throws {
    let folder = try Surroundings.newFolder()
    let library = try Surroundings.preloadable("noproc")
    func run(_ arguments: String...) throws -> ChildProcess.Finished {
      try ChildProcess.run(Surroundings.program, arguments, environment: ["LD_PRELOAD": library])
    }
    #expect(try run("--version").output == (try self.run("--version")).output)
    let done = try run("run", "--config", folder + "/missing.conf")
    #expect(done.status == .exited(78), "\(done.output)")
    #expect(done.errors.contains("missing.conf"), "\(done.errors)")
    #expect(try run().status == .exited(64))
    #expect(try run("run").status == .exited(64))
    #expect(try run("--help").status == .exited(0))
  }

  @Test func `demo --once makes its requests and succeeds`() throws {
    let done = try run("demo", "--once")
    #expect(done.status == .exited(0), "\(done.output)\(done.errors)")
    #expect(done.output.contains("200"))
  }

  @Test func `an address that is taken is exit status 69`() throws {
    let taken = try TestListener()
    let path = try Surroundings.newFolder() + "/proxy.conf"
    try ProxyProcess.write(try ProxyProcess.complete("listen: 127.0.0.1:\(taken.port)\n" + Configuration.https()), to: path)
    let done = try run("run", "--config", path)
    #expect(done.status == .exited(69), "\(done.errors)")
    #expect((done.output + done.errors).contains("127.0.0.1:\(taken.port)"))
  }

  @Test func `explain says which entry takes a request, where it goes and with what, but not the secret`() throws {
    let path = try Surroundings.newFolder() + "/proxy.conf"
    try ProxyProcess.write(
      try ProxyProcess.complete(try Configuration.https("name: payments", "retry: {attempts: 2}")), to: path)
    let done = try run("explain", "--config", path, "GET", "http://api.test/v1/x")
    #expect(done.status == .exited(0), "\(done.errors)")
    for word in ["payments", "https://localhost:\(try Origin.shared().ports.https)", "api", "default"] {
      #expect(done.output.contains(word), "\(word) in \(done.output)")
    }
    #expect(!(done.output + done.errors).contains(Configuration.secretMark))
    let other = try run("explain", "--config", path, "GET", "http://other.test/")
    #expect(other.output.contains("403") || other.output.contains("deny") || other.output.contains("denied"), "\(other.output)")
  }
}
