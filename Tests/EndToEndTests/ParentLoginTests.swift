import Foundation
import Testing

/// The credential of a parent proxy: a wrong one locks no account.
@Suite struct ParentLoginTests {
  private func configuration(
    _ parent: ParentServer, _ folder: String, scheme: String = "http", origin: Origin? = nil
  ) throws -> String {
    let origin = try (origin ?? Origin.shared()).ports
    return """
      via: corporate
      parents:
        corporate: {url: "\(parent.url(scheme))", credential: proxy-login}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.https)"}
        - {match: plain.test, origin: "http://localhost:\(origin.http)"}
      credentials:
        proxy-login: {basic: {username: proxyuser, password: {file: "\(folder)/password"}}}
      watch_files: off
      threads: 2

      """
  }

  private func set(_ password: String, _ folder: String) throws {
    let path = folder + "/password"
    try ProxyProcess.write(password + "\n", to: path + ".new")
    guard rename(path + ".new", path) == 0 else { throw HarnessError("rename") }
  }

  @Test(arguments: ["http", "https", "socks5h"])
  func `a wrong password is sent once, however many requests wait`(_ scheme: String) throws {
    let (parent, folder) = (try ParentServer(), try Surroundings.newFolder())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try set("wrong-5ecret", folder)
    let url = scheme == "https" ? "http://api.test/echo" : "http://plain.test/echo"
    try withProxy(try configuration(parent, folder, scheme: scheme)) { proxy throws in
      let clients = try (0..<40).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", url)) }
      for client in clients {
        let answer = try client.readAnswer()
        #expect(answer.status == 502)
        #expect(answer["Proxy-Status"]?.contains("proxy_configuration_error") == true, "\(answer.head)")
        #expect(answer["Proxy-Status"]?.contains("proxy-login") == true)
      }
      #expect(try parent.news().count == 1)
      #expect(try proxy.ask(url).status == 502)
      #expect(try parent.news().isEmpty)
      // The right one serves as soon as a request finds it.
      try set("pw-5ecret-parent", folder)
      proxy.process.signal(SIGHUP)
      #expect(try eventually(seconds: 5) { try proxy.ask(url).status == 200 })
      #expect(try parent.news().count <= 2)
    }
  }

  @Test(arguments: ["api.test", "plain.test"])
  func `a password that was replaced is read again, and the request is sent once more`(_ host: String) throws {
    let (parent, folder, origin) = (try ParentServer(), try Surroundings.newFolder(), try Origin())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try set("pw-5ecret-parent", folder)
    try withProxy(try configuration(parent, folder, origin: origin)) { proxy throws in
      #expect(try proxy.ask("http://\(host)/echo").status == 200)
      try set("new-5ecret-parent", folder)
      try parent.set(#"{"login": "proxyuser:new-5ecret-parent", "forget": true}"#)
      try origin.dropConnections("https")
      #expect(try proxy.ask("http://\(host)/echo").status == 200)
      #expect(try parent.asked().count == 2)
    }
  }

  /// As tinyproxy does.
  @Test func `a 401 to CONNECT with a credential refuses the credential, as a 407 does`() throws {
    let (parent, folder) = (try ParentServer(), try Surroundings.newFolder())
    try parent.set(#"{"answer": "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"}"#)
    try set("pw-5ecret-parent", folder)
    try withProxy(try configuration(parent, folder)) { proxy throws in
      for _ in 0..<2 {
        let answer = try proxy.ask("http://api.test/echo")
        #expect(answer.status == 502 && answer.proxyError == "proxy_configuration_error", "\(answer.head)")
      }
      #expect(try parent.asked().count == 1)
    }
  }

  @Test(arguments: [("http", "api.test"), ("http", "plain.test"), ("socks5h", "plain.test")])
  func `a parent that hangs up instead of a refusal gets the password once, and again after a pause`(
    _ scheme: String, _ host: String
  ) throws {
    let (parent, folder, url) = (try ParentServer(), try Surroundings.newFolder(), "http://\(host)/echo")
    try parent.set(#"{"login": "proxyuser:other-5ecret", "hangs_up": true}"#)
    try set("pw-5ecret-parent", folder)
    try withProxy(try configuration(parent, folder, scheme: scheme)) { proxy throws in
      for _ in 0..<2 {
        let clients = try (0..<20).map { _ in try proxy.connect() }
        for client in clients { try client.send(ProxyProcess.request("GET", url)) }
        for client in clients { #expect(try client.readAnswer().status == 502) }
      }
      #expect(try parent.news().count == 1)
      try parent.set(#"{"login": "\#(ParentServer.login)", "hangs_up": false}"#)
      #expect(try eventually(seconds: 8) { try proxy.ask(url).status == 200 })
    }
  }
}
