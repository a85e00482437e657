import Foundation
import Testing

/// What `authproxy status` shows of a running proxy, and of whatever else listens where it should be.
@Suite struct StatusCommandTests {
  private func status(_ path: String, _ options: String...) throws -> ChildProcess.Finished {
    try ChildProcess.run(Surroundings.program, ["status", "--config", path] + options)
  }

  @Test func `traffic, credentials and a failed reload, without a secret`() throws {
    let folder = try Surroundings.newFolder()
    try withProxy("admin: unix:\(folder)/admin.sock\n" + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let shown = try status(proxy.configurationPath)
      #expect(shown.status == .exited(0), "\(shown.errors)")
      #expect(shown.output.contains("serving  ready"))
      let row = try #require(shown.output.split(separator: "\n").first { $0.hasPrefix("api.test") })
      #expect(row.split(separator: " ")[1] == "1", "\(row)")
      #expect(shown.output.contains("CREDENTIAL"))
      #expect(!shown.output.contains("\u{1b}") && !shown.output.contains(Configuration.token))

      let json = try status(proxy.configurationPath, "--json")
      let page = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any]
      #expect(page?["phase"] as? String == "serving")

      let good = try String(contentsOfFile: proxy.configurationPath, encoding: .utf8)
      try ProxyProcess.write(good + "\nunknown_key: 1\n", to: proxy.configurationPath)
      proxy.process.signal(SIGHUP)
      #expect(try eventually { try status(proxy.configurationPath).output.contains("The last reload failed") })
      #expect(try status(proxy.configurationPath).output.contains("unknown_key"))
    }
  }

  @Test func `watching shows rates, a proxy that has left, and the next one`() throws {
    let folder = try Surroundings.newFolder()
    let settings = "admin: unix:\(folder)/admin.sock\n" + (try Configuration.https())
    let path = folder + "/watched.conf"
    try ProxyProcess.write(settings, to: path)
    let watching = try ChildProcess(Surroundings.program, ["status", "--config", path, "--watch"])
    defer { watching.signal(SIGKILL) }
    #expect(watching.awaitLine(where: { $0.contains("asking again") }) != nil)
    try withProxy(settings) { proxy throws in
      #expect(watching.awaitLine(where: { $0.contains("serving  ready") }) != nil)
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(watching.awaitLine(where: { $0.contains("REQ/S") }) != nil)
    }
    let lines = watching.lines.count
    #expect(try eventually { watching.lines.dropFirst(lines).contains { $0.contains("asking again") } })
    watching.signal(SIGINT)
    #expect(watching.awaitEnd(seconds: 10) == .killed(signal: SIGINT))
  }

  @Test func `nobody there, no page, and other programs`() throws {
    let folder = try Surroundings.newFolder()
    func configured(_ admin: String) throws -> String {
      try ProxyProcess.write("admin: \(admin)\n" + Configuration.https(), to: folder + "/x.conf")
      return folder + "/x.conf"
    }
    let nobody = try status(configured("unix:\(folder)/nowhere.sock"))
    #expect(nobody.status == .exited(1) && nobody.errors.contains("nowhere.sock/status"), "\(nobody.errors)")
    #expect(try status(configured("127.0.0.1:0")).errors.contains("does not tell the address"))
    #expect(try status(configured("127.0.0.1:1"), "--watch", "--json").status == .exited(64))
    try withProxy("admin: {address: \"unix:\(folder)/some.sock\", expose: [healthz]}\n" + Configuration.https()) {
      proxy throws in
      let hidden = try status(proxy.configurationPath)
      #expect(hidden.status == .exited(1) && hidden.errors.contains("admin.expose"), "\(hidden.errors)")
    }
    for (answer, text) in [
      ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "not an authproxy's page"),
      ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\u{1b}[2J", "/status: "), ("SSH-2.0-x\r\n", "/status: "), ("", "/status: "),
      ("HTTP/1.1 200 OK\r\n\r\n{\"phase\":" + String(repeating: "[", count: 1 << 20), "not an authproxy's page"),
    ] {
      let server = try TestListener()
      let asking = try ChildProcess(Surroundings.program, ["status", "--config", configured("127.0.0.1:\(server.port)")])
      do {
        let connection = try server.accept()
        _ = try connection.read(through: "\r\n\r\n")
        // The command may have seen enough and left before the end of the long one.
        try? connection.send(answer)
      }
      #expect(asking.awaitEnd(seconds: 30) == .exited(1) && asking.output.isEmpty, "\(answer.prefix(40)): \(asking.output)")
      #expect(asking.errors.contains(text) && !asking.errors.contains("\u{1b}"), "\(answer.prefix(40)): \(asking.errors)")
    }
  }
}
