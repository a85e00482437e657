import Foundation
import Testing

/// If apps choose the host, they cannot reach internal addresses, in whatever spelling.
@Suite struct ForbiddenAddressTests {
  @Test func `no spelling of a loopback address is connected to`() throws {
    let listener = try TestListener()
    try withProxy("upstreams: []\nunlisted_hosts: forward\n") { proxy in
      each([
        "localhost", "LOCALHOST.", "127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
        "017700000001", "0",
        "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]",
        "[64:ff9b::127.0.0.1]",
        "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
      ]) { host in
        let answer = try proxy.ask("http://\(host):\(listener.port)/")
        // The proxy may also refuse an odd spelling itself.
        let fine = (answer.status == 403 && answer.proxyError == "destination_ip_prohibited") || answer.status == 400
        #expect(fine, "\(host): \(answer.head)")
      }
      #expect(listener.staysAlone(for: 0.1))
    }
  }

  @Test func `link-local, metadata, multicast and broadcast addresses are out of reach`() throws {
    try withProxy("upstreams: []\nunlisted_hosts: forward\ntimeouts: {connect: 2s}\n") { proxy in
      each([
        "169.254.169.254", "169.254.1.1", "[fe80::1]", "[fd00:ec2::254]", "[fd20:ce::254]", "100.100.100.200", "168.63.129.16",
        "224.0.0.1",
        "[ff02::1]", "255.255.255.255", "[::ffff:169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]",
      ]) { host in
        expectOwnAnswer(try proxy.ask("http://\(host)/latest/meta-data/"), 403, "destination_ip_prohibited")
      }
    }
  }

  @Test func `further ranges can be added`() throws {
    try withProxy(
      "upstreams: []\nunlisted_hosts: forward\nforbidden_addresses: [default, 198.51.100.0/24, \"2001:db8::/32\"]\n"
    ) { proxy in
      each(["198.51.100.7", "[2001:db8::1]", "[::ffff:198.51.100.7]", "127.0.0.1"]) { host in
        expectOwnAnswer(try proxy.ask("http://\(host)/"), 403, "destination_ip_prohibited")
      }
    }
  }

  @Test func `an entry whose origin is not written out is held to them, one with a written origin is not`() throws {
    let port = try Origin.shared().ports.https
    let configuration = """
      upstreams:
        - match: localhost:\(port)
        - match: written.test
          origin: https://localhost:\(port)
      """
    try withProxy(configuration) { proxy in
      expectOwnAnswer(try proxy.ask("http://localhost:\(port)/"), 403, "destination_ip_prohibited")
      #expect(try proxy.ask("http://written.test/").status == 200)
    }
  }

  @Test func `our own listeners are never connected to`() throws {
    try withProxy("upstreams: []\nunlisted_hosts: forward\nforbidden_addresses: []\n") { proxy in
      each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) { host in
        let answer = try proxy.ask("http://\(host):\(proxy.port)/")
        #expect(answer.status == 403 || answer.status == 508, "\(host): \(answer.head)")
      }
    }
  }

  /// An address of this machine that is not loopback; nil if there is none.
  private static let ownAddress: String? = {
    let found = try? ChildProcess.run("hostname", ["-I"])
    return found?.output.split(separator: " ").map(String.init).first { $0.contains(".") }
  }()

  @Test(.enabled(if: ownAddress != nil)) func `a listener on all addresses is not connected to by any of them`() throws {
    let host = try #require(Self.ownAddress)
    let text = """
      listen: {address: "0.0.0.0:0", clients: optional}
      upstreams: []
      unlisted_hosts: forward
      forbidden_addresses: []
      connect: {allow: ["\(host):*"]}
      """
    // The port is known only once it listens, but the configuration must allow a tunnel's target before.
    let port = try TestListener().port
    let fixed = text.replacingOccurrences(of: "0.0.0.0:0", with: "0.0.0.0:\(port)").replacingOccurrences(
      of: ":*", with: ":\(port)")
    try withProxy(fixed) { proxy throws in
      expectOwnAnswer(try proxy.ask("http://\(host):\(port)/"), 403, "destination_ip_prohibited")
      let client = try proxy.connect()
      try client.send("CONNECT \(host):\(port) HTTP/1.1\r\nHost: \(host):\(port)\r\n\r\n")
      expectOwnAnswer(try client.readAnswer(), 403, "destination_ip_prohibited")
    }
  }
}
