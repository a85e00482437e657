import Testing
import WayOut

struct WayTableTests {
  private static func v4(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) -> [UInt8] {
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, a, b, c, d]
  }
  private static func v6(_ first: UInt8, _ second: UInt8) -> [UInt8] {
    [first, second] + [UInt8](repeating: 0, count: 13) + [1]
  }

  /// Only for the addresses of these tests.
  private static func address(_ host: String) -> [UInt8]? {
    if host == "fd00::1" { return v6(0xfd, 0) }
    if host == "fe80::1" { return v6(0xfe, 0x80) }
    let numbers = host.split(separator: ".").compactMap { UInt8($0) }
    return numbers.count == 4 ? v4(numbers[0], numbers[1], numbers[2], numbers[3]) : nil
  }

  @Test(
    arguments: [
      (.all, nil, ["a", "10.0.0.1", "fd00::1"], []),
      (.all, 443, ["a:443"], ["a", "a:80"]),
      (.name("db.test"), nil, ["db.test", "db.test:9"], ["x.db.test", "db.tes", "xdb.test", "db.test.x"]),
      (.name("db.test"), 8443, ["db.test:8443"], ["db.test", "db.test:843"]),
      (.below("test"), nil, ["a.test", "a.b.test"], ["test", "atest", ".test", "a.test.x"]),
      (.domain("test"), nil, ["test", "a.test", "a.b.test"], ["atest", "test.x"]),
      (
        .block(network: v4(10, 0, 0, 0), prefixLength: 104), nil, ["10.0.0.1", "10.255.0.1:9"],
        ["11.0.0.1", "10.test", "fd00::1"]
      ),
      (.block(network: v4(10, 0, 0, 0), prefixLength: 109), nil, ["10.7.0.1", "10.0.0.0"], ["10.8.0.0", "10.15.0.1"]),
      (.block(network: v4(192, 0, 2, 7), prefixLength: 128), nil, ["192.0.2.7"], ["192.0.2.6", "192.0.2.8"]),
      (.block(network: v4(192, 0, 2, 6), prefixLength: 127), nil, ["192.0.2.7", "192.0.2.6"], ["192.0.2.5", "192.0.2.8"]),
      (.block(network: v4(0, 0, 0, 0), prefixLength: 96), nil, ["192.0.2.7", "0.0.0.0"], ["fd00::1", "name"]),
      (.block(network: [UInt8](repeating: 0, count: 16), prefixLength: 0), nil, ["192.0.2.7", "fd00::1"], ["name"]),
      (
        .block(network: [0xfc] + [UInt8](repeating: 0, count: 15), prefixLength: 7), nil, ["fd00::1"], ["fe80::1", "252.0.0.1"]
      ),
      (.block(network: v4(10, 0, 0, 0), prefixLength: 104), 443, ["10.0.0.1:443"], ["10.0.0.1:80"]),
    ] as [(WayPattern.Hosts, UInt16?, [String], [String])])
  func `a pattern matches these hosts and no others`(
    hosts: WayPattern.Hosts, port: UInt16?, matching: [String], others: [String]
  ) {
    let pattern = WayPattern(hosts, port: port)
    for (text, expected) in matching.map({ ($0, true) }) + others.map({ ($0, false) }) {
      var (host, port): (String, UInt16) = (text, 1_000)
      if let colon = text.lastIndex(of: ":"), !text.contains("::") {
        (host, port) = (String(text[..<colon]), UInt16(text[text.index(after: colon)...]) ?? 0)
      }
      #expect(pattern.matches(host: host, address: Self.address(host), port: port) == expected, "\(text)")
    }
  }

  private typealias Rule = WayTable.Rule
  private static let ways: [Via] = [.ways([.direct]), .ways([.parent(0)]), .ways([.parent(1), .parent(0)])]

  @Test func `the entry's via decides, then the first route that matches, then the file's`() {
    let table = WayTable(
      via: Self.ways[1],
      routes: [
        .init(patterns: [WayPattern(.name("a.test")), WayPattern(.name("b.test"))], via: Self.ways[0]),
        .init(patterns: [WayPattern(.below("test"))], via: Self.ways[2]),
        .init(patterns: [WayPattern(.name("a.test"))], via: Self.ways[1]),
      ])
    func decided(_ host: String, _ entry: Via? = nil) -> ([WayTable.Name], Rule) {
      table.ways(host: host, address: nil, port: 443, isTLS: true, via: entry)
    }
    #expect(decided("b.test") == ([.direct], Rule(.route(0))))
    #expect(decided("a.test") == ([.direct], Rule(.route(0))))
    #expect(decided("c.test") == ([.parent(1), .parent(0)], Rule(.route(1))))
    #expect(decided("else") == ([.parent(0)], Rule(.via)))
    #expect(decided("b.test", Self.ways[1]) == ([.parent(0)], Rule(.entry)))
    #expect(!table.isDirect && WayTable().isDirect)
    #expect(WayTable().ways(host: "a", address: nil, port: 1, isTLS: true).ways == [.direct])
  }

  @Test func `environment takes the scheme's variable, then all_proxy, and no_proxy`() {
    let https = WayTable.Environment.Parent(variable: "HTTPS_PROXY", name: .parent(0))
    let http = WayTable.Environment.Parent(variable: "http_proxy", name: .parent(1))
    let all = WayTable.Environment.Parent(variable: "all_proxy", name: .parent(2))
    let exception = WayTable.Environment.Exception(text: ".corp", pattern: WayPattern(.domain("corp")))
    func decided(_ environment: WayTable.Environment, _ host: String, isTLS: Bool) -> (
      WayTable.Name?, WayTable.Environment.Rule?
    ) {
      let table = WayTable(via: .environment, environment: environment)
      let (ways, rule) = table.ways(host: host, address: nil, port: 1, isTLS: isTLS)
      #expect(ways.count == 1 && rule.key == .via)
      return (ways.first, rule.variable)
    }
    let whole = WayTable.Environment(https: https, http: http, all: all, exceptions: [exception])
    #expect(decided(whole, "a", isTLS: true) == (.parent(0), .variable("HTTPS_PROXY")))
    #expect(decided(whole, "a", isTLS: false) == (.parent(1), .variable("http_proxy")))
    #expect(decided(whole, "a.corp", isTLS: true) == (.direct, .exception(".corp")))
    #expect(decided(.init(http: http, all: all), "a", isTLS: true) == (.parent(2), .variable("all_proxy")))
    #expect(decided(.init(http: http), "a", isTLS: true) == (.direct, .unset))
    // Without a parent there is no exception that decides.
    #expect(decided(.init(exceptions: [exception]), "a.corp", isTLS: true) == (.direct, .unset))
  }

  @Test func `a route and an entry may name environment`() {
    let all = WayTable.Environment.Parent(variable: "all_proxy", name: .parent(2))
    let table = WayTable(
      routes: [.init(patterns: [WayPattern(.name("a"))], via: .environment)], environment: .init(all: all))
    #expect(
      table.ways(host: "a", address: nil, port: 1, isTLS: true)
        == ([.parent(2)], Rule(.route(0), variable: .variable("all_proxy"))))
    #expect(
      table.ways(host: "b", address: nil, port: 1, isTLS: true, via: .environment)
        == ([.parent(2)], Rule(.entry, variable: .variable("all_proxy"))))
  }
}
