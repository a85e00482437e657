import Settings
import Testing

@testable import ConfigurationFile

@Suite("proxy_protocol")
struct ProxyProtocolKeyTests {
  private func warnings(_ peers: String, clients: String, address: String = "127.0.0.1:3128") -> [String] {
    let listen = "listen: {address: \"\(address)\", clients: optional, proxy_protocol: [\(peers)]}\n"
    return World.read(listen + clients + "\nupstreams: [{match: h}]\n").lines.filter { !$0.contains("readable on the way") }
  }

  @Test(
    "is warned of where a process of this machine could be any client, and nowhere else",
    arguments: [
      "127.0.0.0/8", "127.0.0.1", "127.9.0.0/16", "\"::1\"", "0.0.0.0/0", "\"::/0\"", "\"::/64\"", "unix", "10.0.0.0/8",
      "\"fd00::/8\"",
      "128.0.0.0/1", "\"::2\"",
    ])
  func claims(_ peers: String) {
    let isLocal = !["10.0.0.0/8", "\"fd00::/8\"", "128.0.0.0/1", "\"::2\""].contains(peers)
    let from = "clients: [{name: a, password: {env: TOKEN}}, {name: b, from: [10.0.0.0/8]}]"
    #expect(
      warnings("192.0.2.7, \(peers)", clients: from)
        == (isLocal
          ? [
            "1:84: warning: listen.proxy_protocol[1]: every process on this machine that can connect here can claim any address, "
              + "so it can be client 'b', whose 'from' says who it is"
          ] : []))
    #expect(warnings(peers, clients: "clients: [{name: a, password: {env: TOKEN}}]") == [])
  }

  @Test("knows its peers, also by the IPv4 address within IPv6")
  func peers() throws {
    let loaded = World.read(
      "listen: {address: \"127.0.0.1:1\", proxy_protocol: [10.0.0.0/8, \"fd00::7\"]}\nupstreams: [{match: h}]\n")
    let peers = try #require(loaded.settings?.listeners.first?.proxyProtocol)
    for (address, isPeer) in [
      ("10.1.2.3", true), ("11.0.0.1", false), ("fd00::7", true), ("fd00::8", false), ("::ffff:10.1.2.3", true),
    ] {
      #expect(peers.contains(IPAddress.parse(address)) == isPeer, "\(address)")
    }
    #expect(!peers.contains(nil))
    #expect("\(peers)" == "10.0.0.0/8, fd00::7/128")
    #expect(ProxyProtocolPeers(includesUnix: true).contains(nil))
  }
}
