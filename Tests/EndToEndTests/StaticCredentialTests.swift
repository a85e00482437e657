import Foundation
import Glibc
import Testing

@Suite struct StaticCredentialTests {
  @Test func `tokens of any visible ASCII arrive as they are, static and fetched`() throws {
    let token = "12|5ecret%7C!#,;="
    let server = try TokenServer()
    let answer = #"{"body": {"access_token": "\#(token)", "token_type": "bearer"}}"#
    try server.set(#"{"queue": [\#(answer)], "accept": ["\#(token)"]}"#)
    try withProxy(try server.configuration()) { proxy throws in
      #expect(try proxy.ask(server.url()).received()["Authorization"] == "Bearer \(token)")
    }
    let configuration = try Configuration.https().replacingOccurrences(
      of: "{token: \(Configuration.token)}", with: "{token: {env: TEST_TOKEN}}")
    try withProxy(configuration, environment: ["TEST_TOKEN": token]) { proxy throws in
      #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer \(token)")
    }
  }

  @Test func `basic, bearer and header credentials each arrive once, as written`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("file-5ecret\n", to: folder + "/token")
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    let entries = ["basic", "bearer", "key", "environment", "file", "helper"].map {
      "  - match: \($0).test\n    origin: \(origin)\n    credential: \($0)"
    }
    let configuration = """
      upstreams:
      \(entries.joined(separator: "\n"))
      credentials:
        basic:
          basic: {username: svc, password: "pä55:5ecret"}
        bearer:
          bearer: {token: tok-5ecret}
        key:
          header: {name: X-Api-Key, value: key-5ecret, format: "Token {value}"}
        environment:
          bearer: {token: {env: TEST_TOKEN}}
        file:
          bearer: {token: {file: \(folder)/token}}
        helper:
          bearer: {token: {command: [/bin/echo, "said-5ecret"], timeout: 10s}}
      """
    let basic = Data("svc:pä55:5ecret".utf8).base64EncodedString()
    try withProxy(configuration, environment: ["TEST_TOKEN": "env-5ecret"]) { proxy in
      each([
        ("basic", "Authorization", "Basic \(basic)"), ("bearer", "Authorization", "Bearer tok-5ecret"),
        ("key", "X-Api-Key", "Token key-5ecret"), ("environment", "Authorization", "Bearer env-5ecret"),
        ("file", "Authorization", "Bearer file-5ecret"), ("helper", "Authorization", "Bearer said-5ecret"),
      ]) { (host, field, value) in
        let received = try proxy.ask("http://\(host).test/echo").received()
        #expect(received.all(field) == [value], "\(host)")
      }
    }
  }

  @Test(.timeLimit(.minutes(2))) func `no request behind a reload carries the value that it replaced, however busy the loops`()
    throws
  {
    let (origin, busy) = (try Origin(), try LoadGenerator.serve())
    defer { busy.process.closeInput() }
    func text(_ round: Int) -> String {
      """
      threads: 2
      log: {access: false}
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(origin.ports.http)", credential: api}
        - {match: busy.test, origin: "http://127.0.0.1:\(busy.port)", credential: api}
      credentials:
        api: {bearer: {token: tok-5ecret-\(round)}, allow_plaintext: true}

      """
    }
    try withProxy(text(0)) { proxy in
      // Connections of both loops.
      let clients = try (0..<16).map { _ in try proxy.connect() }
      let load = try LoadGenerator.start(proxy, "http://busy.test/", ["--clients", "32", "--requests", "100000000"])
      for round in 0...100 {
        if round > 0 { try proxy.reload("listen: \(proxy.addresses[0])\n" + text(round)) }
        for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/echo")) }
        let values = try clients.map { try $0.readAnswer().received()["Authorization"] ?? "none" }
        #expect(Set(values) == ["Bearer tok-5ecret-\(round)"])
      }
      load.signal(SIGTERM)
      let result = try LoadGenerator.result(load)
      #expect(result.failed == 0 && result.good > 100, "\(result)")
    }
  }

  @Test(.timeLimit(.minutes(2))) func `no request carries a value older than the configuration that serves it`() throws {
    let (origin, busy) = (try Origin(), try LoadGenerator.serve())
    defer { busy.process.closeInput() }
    // Via carries its name with each request.
    func text(_ round: Int) -> String {
      """
      name: g\(round)
      threads: 2
      log: {access: false}
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(origin.ports.http)", credential: api}
        - {match: busy.test, origin: "http://127.0.0.1:\(busy.port)", credential: api}
      credentials:
        api: {bearer: {token: "\(round)-5ecret"}, allow_plaintext: true}

      """
    }
    func number(_ value: String?, behind mark: String) throws -> Int {
      let digits = value?.components(separatedBy: mark).dropFirst().first?.prefix { $0.isNumber }
      return try #require(digits.flatMap { Int($0) })
    }
    try withProxy(text(0)) { proxy in
      let clients = try (0..<16).map { _ in try proxy.connect() }
      let load = try LoadGenerator.start(proxy, "http://busy.test/", ["--clients", "32", "--requests", "100000000"])
      for round in 1...200 {
        // Do not wait for it: the next reload comes while the loops still adopt this one.
        let text = try ProxyProcess.complete("listen: \(proxy.addresses[0])\n" + text(round))
        try ProxyProcess.write(text, to: proxy.configurationPath + ".next")
        #expect(rename(proxy.configurationPath + ".next", proxy.configurationPath) == 0)
        proxy.process.signal(SIGHUP)
        for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/echo")) }
        for client in clients {
          let received = try client.readAnswer().received()
          let (serving, value) = (
            try number(received["Via"], behind: "1.1 g"), try number(received["Authorization"], behind: "Bearer ")
          )
          #expect(value >= serving)
        }
      }
      load.signal(SIGTERM)
      #expect(try LoadGenerator.result(load).failed == 0)
    }
  }
}
