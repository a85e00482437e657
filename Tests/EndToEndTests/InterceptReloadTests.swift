import Foundation
import Testing

/// What a reload means for intercepted connections that are open.
@Suite struct InterceptReloadTests {
  private static let clients = """
    clients:
      - {name: app, password: app-5ecret}
      - {name: other, password: other-5ecret}
    """

  /// Statuses of two requests on one intercepted connection, before and after a change.
  private func twice(
    _ proxy: ProxyProcess, root: String, host: String = "api.test", between: () throws -> Void
  ) throws -> [Int] {
    let client = try SteppedClient(proxy.port)
    #expect(try client.connect("\(host):443", password: "app:app-5ecret").status == 200)
    try client.tls(host, root: root)
    let first = try client.get("/echo", host: host)
    try between()
    let second = try client.get("/echo", host: host)
    // Behind a refusal of the connection's client or host no other request can be served.
    if second.says("connection: close") { #expect(try client.end().end == "close_notify") }
    return [first.status, second.status]
  }

  @Test func `a client that lost its rights gets 403 inside, never 407`() throws {
    let configuration = try Intercepted.configuration(top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let withoutPassword = configuration.replacingOccurrences(of: "app-5ecret", with: "new-5ecret")
      let answers = try twice(proxy, root: proxy.root) { try proxy.reload(withoutPassword) }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
    try withProxy(configuration) { proxy throws in
      let denied = configuration.replacingOccurrences(of: "password: app-5ecret", with: "password: app-5ecret, allow: []")
      let answers = try twice(proxy, root: proxy.root) { try proxy.reload(denied) }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
  }

  @Test func `where the match is gone nothing is served inside, also not as an unlisted host`() throws {
    let configuration = try Intercepted.configuration(top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let answers = try twice(proxy, root: proxy.root) {
        try proxy.reload(
          configuration.replacingOccurrences(of: "https://api.test", with: "https://other.test")
            .replacingOccurrences(of: "clients:", with: "unlisted_hosts: forward\nclients:"))
      }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
  }

  @Test func `an entry that is another client's now serves nothing inside, also not as an unlisted host`() throws {
    let configuration = try Intercepted.configuration(
      entry: "clients: [app]", top: "unlisted_hosts: forward\n" + Self.clients)
    try withProxy(configuration) { proxy throws in
      let answers = try twice(proxy, root: proxy.root) {
        try proxy.reload(configuration.replacingOccurrences(of: "clients: [app]", with: "clients: [other]"))
      }
      #expect(answers == [200, 403])
    }
  }

  @Test func `a host that is exempted now is served inside no more`() throws {
    let configuration = try Intercepted.configuration(match: "https://*.wild.test", top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let answers = try twice(proxy, root: proxy.root, host: "pinned.wild.test") {
        try proxy.reload(configuration + "\nconnect: {allow: [\"pinned.wild.test:443\"]}\n")
      }
      #expect(answers == [200, 403])
    }
  }

  @Test func `another CA signs new handshakes, while open connections go on`() throws {
    let folder = try Surroundings.newFolder()
    func configuration(_ name: String) throws -> String {
      try Intercepted.configuration(top: "intercept: {ca: {generate: \(folder)/\(name)}}\n" + Self.clients)
    }
    try withProxy(try configuration("one")) { proxy throws in
      let roots = ["one", "two"].map { "\(folder)/\($0)/ca.pem" }
      let answers = try twice(proxy, root: roots[0]) { try proxy.reload(try configuration("two")) }
      #expect(answers.count == 2 && answers[0] == answers[1] && answers[1] < 300, "\(answers)")
      let request = ProxyProcess.last("GET", "/echo")
      #expect(try proxy.inside(request, root: roots[1], "--password", "app:app-5ecret").statuses == [200])
      #expect(try proxy.inside(request, root: roots[0], "--password", "app:app-5ecret").received.isEmpty)
    }
  }
}
