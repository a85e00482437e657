import Foundation
import Testing

/// Recent trouble and the history, as /status has them.
@Suite struct TroubleReportTests {
  @Test func `what the proxy answered itself and what failed is there, without queries and the rest of paths`() throws {
    try withProxy("admin: 127.0.0.1:0\n" + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try proxy.ask("http://unlisted.test/bot-1234/x?key=5678").status == 403)
      #expect(try proxy.ask("http://api.test/status/503").status == 503)
      #expect(try proxy.ask("http://api.test/status/404").status == 404)
      let status = try proxy.status()
      let trouble = try #require(status["trouble"] as? [[String: Any]])
      #expect(trouble.compactMap { $0["status"] as? Int } == [503, 403])
      #expect(trouble.compactMap { $0["path"] as? String } == ["/status/…", "/…"])
      #expect(trouble.compactMap { $0["author"] as? String } == ["upstream", "proxy"])
      #expect(trouble[1]["error"] as? String == "http_request_denied" && trouble[1]["authority"] as? String == "unlisted.test")
      let history = try #require((status["history"] as? [String: [String: Any]])?["5m"])
      #expect((history["requests"] as? [Int])?.reduce(0, +) == 4 && (history["failures"] as? [Int])?.reduce(0, +) == 1)
      let upstreams = try #require(status["upstreams"] as? [[String: Any]])
      let entry = try #require(upstreams.first { $0["name"] as? String == "api.test" })
      #expect((entry["6h"] as? [String: Any])?["requests"] as? Int == 3)
      #expect((entry["trust_state"] as? [String: Any])?["state"] as? String == "trusted")
      #expect(!(try proxy.admin("").text).contains("5678"))
    }
  }

  @Test func `whoever may open the unix socket sees whole paths`() throws {
    let folder = try Surroundings.newFolder()
    try withProxy("admin: unix:\(folder)/admin.sock\n" + Configuration.https()) { proxy throws in
      #expect(try proxy.ask("http://unlisted.test/a/b?c").status == 403)
      let page = try ChildProcess.run(Surroundings.program, ["status", "--json", "--config", proxy.configurationPath])
      #expect(page.output.contains(#""path":"/a/b""#), "\(page.output)\(page.errors)")
    }
  }

  @Test func `a slot that has ended keeps its requests`() throws {
    try withProxy("admin: 127.0.0.1:0\nthreads: 1\nwatch_files: off\n" + Configuration.http()) { proxy throws in
      for _ in 0..<5 { _ = try proxy.ask("http://api.test/") }
      // Slots have 10 s.
      #expect(
        try eventually(seconds: 40) {
          let history = try #require((try proxy.status()["history"] as? [String: [String: Any]])?["5m"])
          return (history["requests"] as? [Int])?.dropLast().reduce(0, +) == 5
        })
    }
  }
}
