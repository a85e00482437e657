import JSON
import Testing

@testable import Operations

@Suite struct StatusTextTests {
  private static let now: Int64 = 1_800_000_000

  private static func page(_ more: String) throws -> JSONValue {
    try JSONParser.parse(
      Array(#"{"version":"0.1.0","phase":"serving","ready":true,"started":\#(now - 3725),"now":\#(now)\#(more)}"#.utf8))
  }

  private static func lines(_ more: String, since earlier: StatusText.Earlier? = nil, width: Int = 120, colours: Bool = false)
    throws
    -> [String]
  {
    try #require(StatusText(try page(more), since: earlier, width: width, isColoured: colours)).lines
  }

  @Test func `what the page does not have is left out`() throws {
    #expect(try Self.lines("") == ["authproxy 0.1.0  serving  ready  started 1 h 2 m ago"])
    #expect(StatusText(try JSONParser.parse(Array("{}".utf8)), width: 80, isColoured: false) == nil)
    #expect(StatusText(.array([]), width: 80, isColoured: false) == nil)
  }

  @Test func `every section`() throws {
    let more = """
      ,"addresses":["127.0.0.1:3128"],"config":{"generation":2,"last_reload_successful":false,"last_reload_errors":["proxy.conf:3: error: x"]},\
      "client_connections":5,"tunnels":1,"cache":{"bytes":2097152,"limit":67108864,"objects":7},\
      "upstreams":[{"name":"api.test","requests":{"200":90,"304":2,"404":3,"502":4,"none":1},"connections_idle":2,\
      "connections_active":1,"5m":{"per_second":1.250,"p50_seconds":0.012,"p99_seconds":1.300},\
      "trust_state":{"state":"refused","reason":"revoked"},"certificate_expiry":\(Self.now + 86_400),"cache":{"hit":3,"miss":1},\
      "origins":[{"origin":"https://a","up":true},{"origin":"https://b","up":false}]}],\
      "credentials":[{"name":"api","state":"ready","waiting_requests":0,"expiry":\(Self.now + 90)},\
      {"name":"mine","state":"failed","waiting_requests":3,"reason":"token server: 500","subjects":4},\
      {"name":"calendar","state":"needs_operator","waiting_requests":0,"login":{"needed":true}}],\
      "pins":[{"trust":"strict","expiry":\(Self.now - 60)}],\
      "revocation":[{"subject":"a.test","state":"good"},{"subject":"b.test","state":"revoked","responder":"http://o.test","fetched":\(Self.now - 60)}],\
      "trouble":[{"time":\(Self.now - 5),"peer":"127.0.0.1:5","method":"GET","authority":"api.test","path":"/v1/…","status":502,\
      "author":"proxy","error":"connection_refused","details":"no"},{"time":\(Self.now - 9),"client":"ci","method":"GET","status":0}]
      """
    let expected = [
      "authproxy 0.1.0  serving  ready  started 1 h 2 m ago  configuration 2",
      "listens on   127.0.0.1:3128",
      "apps         5 connections, 1 tunnels",
      "cache        2 of 64 MiB, 7 answers",
      "The last reload failed; the configuration before it is in use:",
      "  proxy.conf:3: error: x",
      "",
      "UPSTREAM  REQUESTS  REQ/S  2XX  3XX  4XX  5XX  OTHER    P50    P99  BUSY  IDLE  HITS  TRUST             "
        + "CERTIFICATE ENDS  ORIGINS DOWN",
      "api.test       100    1.3   90    2    3    4      1  12 ms  1.3 s     1     2  75 %  refused: revoked  "
        + "in 1 d 0 h        https://b",
      "",
      "CREDENTIAL  STATE                                EXPIRES  WAITING  USERS",
      "api         fresh                                in 1 m         0       ",
      "mine        failing                                             3      4",
      "calendar    needs you: authproxy login calendar                 0       ",
      "mine: token server: 500",
      "",
      "PINS OF  END",
      "strict   1 m ago",
      "",
      "REVOCATION OF  STATE    RESPONDER      FETCHED",
      "b.test         revoked  http://o.test  1 m ago",
      "",
      "TROUBLE  STATUS  CLIENT       UPSTREAM  REQUEST              ERROR               DETAILS",
      "5 s ago     502  127.0.0.1:5  none      GET api.test/v1/...  connection_refused  no",
      "9 s ago    none  ci           none      GET                  answered            ",
    ]
    let lines = try Self.lines(more, width: 200)
    #expect(lines == expected, "\(lines.joined(separator: "\n"))")
  }

  @Test func `rates are of the time between two readings, and none after a restart`() throws {
    func requests(_ count: Int) -> String { #","upstreams":[{"name":"a","requests":{"200":\#(count)}}]"# }
    for (before, after, seconds, rate) in [(10, 30, 2.0, "10"), (10, 13, 2.0, "1.5"), (30, 10, 2.0, nil), (1, 2, 0.0, nil)] {
      let earlier = StatusText.Earlier(try Self.page(requests(before)), seconds: seconds)
      let lines = try Self.lines(requests(after), since: earlier)
      #expect(lines[2].contains("REQ/S") == (rate != nil))
      if let rate { #expect(lines[3].split(separator: " ")[2] == rate, "\(lines[3])") }
    }
  }

  @Test func `texts of strangers move nothing`() throws {
    let name = #"\u001b[2J\u202e<script>"# + String(repeating: "x", count: 10_000)
    let more = """
      ,"addresses":["\(name)"],"upstreams":[{"name":"\(name)","requests":{"200":1}}],\
      "credentials":[{"name":"\(name)","state":"\(name)","reason":"\(name)"}],"pins":[{"trust":"\(name)","expiry":1}],\
      "config":{"last_reload_successful":false,"last_reload_errors":["\(name)"]}
      """
    for width in [0, 1, 40, 80, 100_000] {
      for line in try Self.lines(more, width: width).dropFirst() where !line.hasPrefix("The last reload") {
        #expect(line.utf8.allSatisfy { (0x20...0x7e).contains($0) })
        #expect(line.count <= max(width, 12) && line.count < 20_000, "\(width): \(line.count)")
      }
    }
  }

  @Test(arguments: [
    #","upstreams":7,"credentials":{"a":1},"pins":"x","addresses":[1,null],"config":[],"cache":3,"tunnels":"x""#,
    #","upstreams":[1,{},{"name":1,"requests":[2],"origins":{}},{"requests":{"200":9223372036854775807,"201":9223372036854775807,"x":-5}}]"#,
    #","pins":[{"expiry":-9223372036854775808},{"expiry":9223372036854775807}],"credentials":[{"expiry":9223372036854775807},[]]"#,
  ])
  func `a page that lies is shown without harm`(more: String) throws { #expect(try !Self.lines(more).isEmpty) }

  @Test func `colours are codes around the same text`() throws {
    let more = #","upstreams":[{"name":"a","requests":{"502":1}}],"credentials":[{"name":"c","state":"failed"}]"#
    let coloured = try Self.lines(more, colours: true)
    #expect(coloured.contains { $0.contains("\u{1b}[31mfailing") })
    #expect(coloured.map { $0.replacing(/\u{1b}\[[0-9]+m/, with: "") } == (try Self.lines(more)))
  }
}
