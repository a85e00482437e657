import Foundation
import Testing

/// An app that reached the proxy through the proxy would be another client: the proxy itself. `hosts`, `bind` and what the kernel takes for
/// this machine lead to none of its listeners.
@Suite struct OwnListenerTests {
  /// The configuration must name the port before the proxy listens on it.
  private static func configuration(_ listen: String, _ more: String = "") throws -> (text: String, port: Int) {
    let port = try TestListener(backlog: nil).port
    let text = """
      listen: {address: "\(listen):\(port)", clients: optional}
      upstreams: []
      unlisted_hosts: forward
      forbidden_addresses: []
      connect: {allow: ["*:\(port)"]}
      \(more)

      """
    return (text, port)
  }

  private func expectRefused(_ host: String, _ port: Int, _ proxy: ProxyProcess) throws {
    expectOwnAnswer(try proxy.ask("http://\(host):\(port)/"), 403, "destination_ip_prohibited")
    let client = try proxy.connect()
    try client.send("CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\n\r\n")
    expectOwnAnswer(try client.readAnswer(to: "CONNECT"), 403, "destination_ip_prohibited")
  }

  @Test(arguments: ["127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"]) func `hosts lead to none`(address: String) throws {
    let (text, port) = try Self.configuration("127.0.0.1", "hosts: {x.test: [\"\(address)\"]}")
    try withProxy(text) { proxy throws in try expectRefused("x.test", port, proxy) }
  }

  @Test(arguments: ["", "bind: [127.0.0.7]"]) func `the address of no machine leads to none`(bind: String) throws {
    let (text, port) = try Self.configuration("127.0.0.1", bind)
    try withProxy(text) { proxy throws in try expectRefused("0.0.0.0", port, proxy) }
  }

  /// An address of this machine that is not loopback; nil if there is none.
  private static let ownAddress: String? = {
    let found = try? ChildProcess.run("hostname", ["-I"])
    return found?.output.split(separator: " ").map(String.init).first { $0.contains(".") }
  }()

  @Test(
    .enabled(if: ownAddress != nil),
    arguments: ["bind: [127.0.0.7]", "hosts: {x.test: [OWN]}", "hosts: {x.test: [OWN]}\nbind: [127.0.0.7]"])
  func `a listener on all addresses is found whatever address connections come from`(keys: String) throws {
    let own = try #require(Self.ownAddress)
    let (text, port) = try Self.configuration("0.0.0.0", keys.replacingOccurrences(of: "OWN", with: own))
    try withProxy(text) { proxy throws in
      try expectRefused(own, port, proxy)
      if keys.contains("x.test") { try expectRefused("x.test", port, proxy) }
    }
  }

  @Test func `a parent is asked for none, whose address is written`() throws {
    let parent = try ParentServer()
    let (text, port) = try Self.configuration(
      "0.0.0.0",
      """
      via: corporate
      parents: {corporate: {url: "\(parent.url("http"))", resolve: here}}
      hosts: {x.test: [127.0.0.1]}
      """)
    try withProxy(text) { proxy throws in
      try expectRefused("x.test", port, proxy)
      #expect(try parent.asked().isEmpty)
    }
  }
}
