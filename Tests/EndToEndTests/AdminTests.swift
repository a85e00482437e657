import Foundation
import Testing

@Suite struct AdminTests {
  private let admin = "admin: 127.0.0.1:0\n"

  @Test func `the pages answer, others are 404, and other methods 405`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      #expect(try proxy.admin("healthz").status == 200)
      #expect(try proxy.admin("readyz").status == 200)
      #expect(try proxy.admin("readyz?credentials").status == 200)
      #expect(try proxy.admin("metrics")["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
      #expect(try proxy.admin("status")["Content-Type"] == "application/json")
      #expect(try proxy.admin("")["Content-Type"] == "text/html; charset=utf-8")
      #expect(try proxy.admin("dashboard").status == 404)
      #expect(try proxy.admin("metrics/x").status == 404)
      #expect(try proxy.admin("healthz", method: "POST").status == 405)
      let head = try proxy.admin("healthz", method: "HEAD")
      #expect(head.status == 200)
      #expect(head["Content-Length"] == "3")
    }
  }

  @Test func `only what is exposed is there`() throws {
    let some = "admin: {address: 127.0.0.1:0, expose: [healthz]}\n"
    try withProxy(try some + Configuration.https()) { proxy throws in
      #expect(try proxy.admin("healthz").status == 200)
      for page in ["readyz", "metrics", "status", ""] { #expect(try proxy.admin(page).status == 404, "\(page)") }
    }
  }

  @Test func `the admin listener is no way into itself through the proxy`() throws {
    let open = "connect: {allow: [\"*.test:1\", 127.0.0.1]}\nforbidden_addresses: []\n"
    try withProxy(try admin + open + Configuration.https()) { proxy throws in
      let answer = try proxy.ask("CONNECT", "127.0.0.1:\(proxy.adminPort)")
      expectOwnAnswer(answer, 403, "destination_ip_prohibited")
    }
  }

  @Test func `garbage, and more connections than it takes, do not keep it from answering`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      let garbage = try RawConnection(port: proxy.adminPort)
      try garbage.send("\u{16}\u{3}\u{1}garbage\r\n\r\n")
      #expect(try garbage.readAnswer().status == 400)
      var idle = try (0..<70).map { _ in try RawConnection(port: proxy.adminPort) }
      #expect(try proxy.ask("http://api.test/").status == 200)
      idle.removeAll()
      #expect(try proxy.admin("healthz").status == 200)
    }
  }

  @Test func `/status tells the same for scripts`() throws {
    try withProxy(try admin + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      let status = try proxy.status()
      #expect(status["phase"] as? String == "serving")
      #expect((status["config"] as? [String: Any])?["generation"] as? Int == 1)
      #expect((status["addresses"] as? [String]) == proxy.addresses)
      let upstreams = try #require(status["upstreams"] as? [[String: Any]])
      let entry = try #require(upstreams.first { $0["name"] as? String == "api.test" })
      #expect((entry["requests"] as? [String: Int])?["200"] == 1)
      #expect(entry["certificate_expiry"] as? Int ?? 0 > 1_700_000_000)
      let credentials = try #require(status["credentials"] as? [[String: Any]])
      #expect(credentials.first?["name"] as? String == "api")
    }
  }

  @Test func `health is 0 for a proxy that serves and 1 for none, whatever else is in the file`() throws {
    let folder = try Surroundings.newFolder()
    func health(_ path: String, _ options: [String] = []) throws -> ChildProcess.Finished {
      try ChildProcess.run(Surroundings.program, ["health", "--config", path] + options)
    }
    try withProxy("admin: unix:\(folder)/admin.sock\n" + Configuration.https()) { proxy throws in
      #expect(try health(proxy.configurationPath).status == .exited(0))
      #expect(try health(proxy.configurationPath, ["--ready"]).status == .exited(0))
      try ProxyProcess.write("admin: unix:\(folder)/admin.sock\nlisten: [broken\n", to: folder + "/broken.conf")
      #expect(try health(folder + "/broken.conf").status == .exited(1))
      try ProxyProcess.write(
        "admin: unix:\(folder)/admin.sock\ncredentials: {a: {bearer: {token: {file: nowhere}}}}\n", to: folder + "/x.conf")
      #expect(try health(folder + "/x.conf").status == .exited(0))
    }
    try ProxyProcess.write("admin: unix:\(folder)/admin.sock\n", to: folder + "/gone.conf")
    let gone = try health(folder + "/gone.conf")
    #expect(gone.status == .exited(1))
    #expect(gone.errors.contains("admin.sock"), "\(gone.errors)")
    try ProxyProcess.write("listen: 127.0.0.1:1\n", to: folder + "/none.conf")
    #expect(try health(folder + "/none.conf").errors.contains("'admin'"))
  }
}
