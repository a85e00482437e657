import Credentials
import Settings
import Testing
import WayOut

@testable import ConfigurationFile

@Suite("Ways out")
struct WayTests {
  private func address(_ text: String) -> [UInt8] { IPAddress.parse(text) ?? [] }

  @Test("parents, routes, hosts and addresses have the right settings")
  func whole() throws {
    let settings = try #require(World.read(wholeLanguage).settings)
    let certificate = try #require(settings.upstreams[0].clientCertificate)
    #expect(
      settings.parents == [
        ParentSettings(
          name: "corporate", scheme: .http, host: "proxy.corp.example", port: 8080, credential: "proxy-login",
          tunnelsHTTP: true,
          connectFields: [.init(name: "User-Agent", value: "Mozilla/5.0"), .init(name: "X-Way", value: "out")]),
        ParentSettings(
          name: "backup", scheme: .https, host: "2001:db8::9", port: 3129, trust: "lab", clientCertificate: certificate),
        ParentSettings(
          name: "checking", scheme: .http, host: "192.0.2.9", port: 8080, resolvesHere: true, tunnelsHTTP: true),
        ParentSettings(
          name: "here", scheme: .socks5, host: "127.0.0.1", port: 1080, credential: "socks-login", resolvesHere: true),
        ParentSettings(name: "there", scheme: .socks5h, host: "socks.example.com", port: 1080),
      ])
    let blocks = [("10.0.0.0", 104), ("fd00::", 8)]
    #expect(
      settings.ways
        == WayTable(
          via: .ways([.parent(0), .direct]),
          routes: [
            .init(
              patterns: [WayPattern(.below("internal.example.com"))]
                + blocks.map { WayPattern(.block(network: address($0), prefixLength: $1)) } + [
                  WayPattern(.name("db.example.com"), port: 8443),
                  WayPattern(.block(network: address("2001:db8::1"), prefixLength: 128), port: 8080),
                  WayPattern(.block(network: address("192.0.2.7"), prefixLength: 128)),
                ], via: .ways([.direct])),
            .init(patterns: [WayPattern(.all, port: 25)], via: .environment),
          ]))
    #expect(settings.hosts == ["api.example.com": [address("192.0.2.7"), address("2001:db8::7")]])
    #expect(settings.outbound == OutboundAddressing(bind: [address("192.0.2.9"), address("2001:db8::9")]))
    #expect(settings.upstreams[0].via == .ways([.parent(2)]))
    #expect(settings.upstreams[0].outbound == OutboundAddressing(bind: [address("192.0.2.10")], family: .ipv4))
    #expect(settings.upstreams[1].via == .ways([.parent(3), .parent(4)]))
    #expect(settings.upstreams[2].via == nil && settings.upstreams[2].outbound == nil)
  }

  @Test("an entry's address_family takes the addresses of the file that fit, and its bind replaces them")
  func entryAddressing() throws {
    let settings = try #require(
      World.read(
        #"""
        listen: 127.0.0.1:3128
        bind: [192.0.2.9, "[2001:db8::9]"]
        upstreams:
          - {match: a, address_family: ipv6}
          - {match: b, bind: []}
          - {match: c, bind: ["::ffff:192.0.2.10"]}
        """#
      ).settings)
    let (v4, v6) = (address("192.0.2.9"), address("2001:db8::9"))
    #expect(settings.outbound == OutboundAddressing(bind: [v4, v6]))
    #expect(
      settings.upstreams.map(\.outbound) == [
        OutboundAddressing(bind: [v6], family: .ipv6), OutboundAddressing(),
        OutboundAddressing(bind: [address("192.0.2.10")]),
      ])
    #expect(settings.upstreams.map { $0.outbound?.usesIPv4 } == [false, true, true])
    #expect(settings.upstreams.map { $0.outbound?.usesIPv6 } == [true, true, false])
  }

  @Test(
    "addresses of routes compare as numbers, and no name is taken for one",
    arguments: [
      ("10.1.2.3", ["10.0.0.0/8"], true), ("::ffff:10.1.2.3", ["10.0.0.0/8"], true), ("11.0.0.1", ["10.0.0.0/8"], false),
      ("192.0.2.7", ["192.0.2.4/30"], true), ("192.0.2.8", ["192.0.2.4/30"], false), ("192.0.2.7", ["192.0.2.7"], true),
      ("::1", ["0:0:0:0:0:0:0:1"], true), ("fd12::1", ["fd00::/8"], true), ("10.example.com", ["10.0.0.0/8"], false),
      ("localhost", ["127.0.0.0/8"], false), ("a.example.com", ["*.example.com"], true),
      ("example.com", ["*.example.com"], false),
      ("example.com", ["EXAMPLE.com."], true), ("example.com", ["*"], true), ("192.0.2.7", ["::/0"], true),
      ("192.0.2.7", ["0.0.0.0/0"], true), ("2001:db8::1", ["0.0.0.0/0"], false),
    ] as [(String, [String], Bool)])
  func addresses(host: String, patterns: [String], matches: Bool) throws {
    let match = patterns.map { "\"\($0)\"" }.joined(separator: ", ")
    let settings = try #require(
      World.read(
        "listen: 127.0.0.1:3128\nvia: p\nparents: {p: {url: \"http://p:1\"}}\nroutes: [{match: [\(match)], via: direct}]\n"
      ).settings)
    #expect((settings.ways.ways(host: host, port: 443, isTLS: true).ways == [.direct]) == matches)
  }
}
