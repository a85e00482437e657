import Foundation
import Testing

/// No output has a secret of a target, neither the proxy's nor the app's own.
@Suite struct TargetSecretsTests {
  @Test func `at level trace no log, page, check, explain or answer has one`() throws {
    let origin = try Origin.shared()
    let text = """
      admin: 127.0.0.1:0
      log: {level: trace}
      upstreams:
        - {match: query.test, origin: "https://localhost:\(origin.ports.https)", credential: maps}
        - {match: path.test, origin: "https://localhost:\(origin.ports.https)", credential: bot}
        - {match: reject.test, origin: "https://localhost:\(origin.ports.https)", credential: bot, client_authorization: reject}
        - {match: keep.test, origin: "https://localhost:\(origin.ports.https)", credential: bot, client_authorization: keep}
        - {match: wrong.test, origin: "https://localhost:\(origin.ports.wrong_host)", credential: maps}
        - {match: dead.test, origin: "https://127.0.0.1:1", credential: bot}
      credentials:
        maps: {query: {name: key, value: "maps-5ecret/1"}}
        bot: {path: {segment: "bot{value}", value: "bot:5ecret/2"}}

      """
    let proxy = try ProxyProcess(text)
    var said: [String] = []
    for host in ["query", "path", "reject", "keep", "wrong", "dead"] {
      // Elsewhere such a segment is a path like others, which the log has.
      let own = ["query", "wrong"].contains(host) ? [] : ["/botown-5ecret/getMe?b"]
      for target in ["/a?key=own-5ecret", "/../x", "/status/401", "/status/500"] + own {
        for method in ["GET", "POST"] {
          let answer = try proxy.ask(method, "http://\(host).test\(target)", body: method == "POST" ? "x" : nil)
          // What the origin says is the API's output, not the proxy's.
          if answer.proxyError != nil { said.append(answer.head + answer.text) }
        }
      }
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "GET", "http://\(host).test/a?b"])
      said.append(explained.output + explained.errors)
      let words = explained.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains(["query", "wrong"].contains(host) ? "asks for /a?b&key=***" : "asks for /bot***/a?b"), "\(words)")
    }
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", proxy.configurationPath])
    said += [check.output, check.errors]
    let words = check.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("query, key=***") && words.contains("path, first segment bot***"), "\(check.output)")
    for page in ["metrics", "status"] { said.append(try proxy.admin(page).text) }
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
    said += proxy.process.lines + [proxy.process.errors]
    #expect(proxy.process.lines.count > 50)
    #expect(proxy.process.lines.contains { $0.contains("/bot***/getMe") })
    for text in said where text.contains("5ecret") { Issue.record("a secret in: \(text.prefix(400))") }
  }

  @Test func `the log has no path secret of an app whose request is refused`() throws {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    let text = """
      clients: [{name: guest, from: [127.0.0.0/8], allow: [kept, nested]}]
      upstreams:
        - {name: kept, match: keep.test, origin: "\(origin)", credential: bot, client_authorization: keep, methods: [GET, TRACE]}
        - {name: nested, match: nested.test/v1, origin: "\(origin)/api", credential: bot, client_authorization: keep}
        - {name: closed, match: closed.test, origin: "\(origin)", credential: bot, client_authorization: keep}
      credentials:
        bot: {path: {segment: "bot{value}", value: "bot:5ecret/2"}}

      """
    let proxy = try ProxyProcess(text)
    let asked: [(method: String, url: String, status: Int)] = [
      ("POST", "keep.test/botown-5ecret/x", 403), ("TRACE", "keep.test/botown-5ecret/x", 405),
      ("GET", "closed.test/botown-5ecret/x", 403), ("GET", "closed.test/x/%62otown-5ecret", 403),
      ("GET", "nested.test/botown-5ecret/x", 403), ("GET", "nested.test/v1/../botown-5ecret", 400),
      ("GET", "nested.test/v1//botown-5ecret/x", 400), ("GET", "nested.test//botown-5ecret/x", 400),
      ("GET", "nested.test/v1/b%256ftown-5ecret/%252e%252e/%252e%252e/x", 400),
    ]
    for (method, url, status) in asked {
      let answer = try proxy.ask(method, "http://\(url)")
      #expect(answer.status == status, "\(method) \(url): \(answer.head)")
      #expect(!(answer.head + answer.text).contains("5ecret"))
    }
    // What the proxy answers itself as the last hop is no refusal.
    #expect(try proxy.ask("TRACE", "http://keep.test/botown-5ecret/x", ["Max-Forwards: 0"]).status != 200)
    #expect(try proxy.ask("OPTIONS", "http://nested.test/v1/botown-5ecret/x", ["Max-Forwards: 0"]).status == 200)
    // It looks for a secret in every line.
    proxy.stop()
    let paths = proxy.process.lines.filter { $0.contains(#""path":"#) }
    #expect(paths.count == asked.count + 2, "\(proxy.tail)")
    for line in paths { #expect(line.contains("***"), "\(line)") }
  }
}
