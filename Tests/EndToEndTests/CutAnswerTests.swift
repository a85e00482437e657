import Foundation
import Glibc
import Testing

/// An origin that stops in the middle of anything, for any time, delays nobody else. A response that it breaks off never looks
/// complete.
@Suite(.serialized) struct CutAnswerTests {
  @Test(arguments: Wire.allCases) func `a relayed answer that is cut anywhere waits without work, and goes on or breaks`(
    wire: Wire
  ) throws {
    try Self.run(Self.relayed, wire)
  }

  @Test(arguments: Wire.allCases) func `a held refusal that is cut anywhere waits without work, and is replaced or relayed`(
    wire: Wire
  ) throws {
    try Self.run(Self.held, wire)
  }

  @Test(arguments: Wire.allCases) func `an answer to be repeated that is cut anywhere waits without work, and is repeated`(
    wire: Wire
  ) throws {
    try Self.run(Self.retried, wire)
  }

  // MARK: Responses

  private static let status = "HTTP/1¦.1 200 OK\r\n"

  private static let relayed: [CutAnswer] = {
    let text = String(repeating: "gzip ", count: 20)
    let gzip = StoredGzip.pieces(text)
    let sum = gzip.sum.unicodeScalars
    let squeezed = [
      gzip.head, String(gzip.data.prefix(50)), String(gzip.data.dropFirst(50)), String(sum.prefix(4)), String(sum.dropFirst(4)),
    ]
    let count = squeezed.reduce(0) { $0 + $1.unicodeScalars.count }
    let chunks = squeezed.map { String($0.unicodeScalars.count, radix: 16) + "\r\n" + $0 + "\r\n" }
    return [
      CutAnswer(
        name: "Content-Length", pieces: CutAnswer.at(status + "Content-¦Length: 10\r\n\r¦\n¦hello¦worl¦d"), body: "helloworld"),
      CutAnswer(
        name: "chunked",
        pieces: CutAnswer.at(
          status + "Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n¦5¦\r¦\nhel¦lo¦\r\n¦a;x=y\r\nworldworld¦\r\n¦0¦\r\n"
            + "¦X-T: ¦1\r\n¦\r\n"),
        body: "helloworldworld", trailers: ["X-T: 1"]),
      CutAnswer(
        name: "close-delimited", pieces: CutAnswer.at(status + "\r\n¦hello¦world"), body: "helloworld", endsByClose: true),
      CutAnswer(name: "HEAD", method: "HEAD", pieces: CutAnswer.at(status + "Content-Length: 10\r\n¦\r¦\n")),
      CutAnswer(name: "204", pieces: CutAnswer.at("HTTP/1.1 2¦04 No\r\n¦\r¦\n"), status: 204),
      CutAnswer(name: "304", pieces: CutAnswer.at("HTTP/1.1 304 No\r\n¦Content-Length: 10\r\n\r¦\n"), status: 304),
      CutAnswer(
        name: "401 without a credential", host: "open.test",
        pieces: CutAnswer.at("HTTP/1.1 401 No\r\n¦Content-Length: 2\r\n\r\n¦n¦o"), status: 401, body: "no"),
      CutAnswer(
        name: "1xx",
        pieces: CutAnswer.at("HTTP/1.1 103 Early\r\nLink: </a>¦\r\n\r\n¦HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n¦o¦k"),
        body: "ok"),
      CutAnswer(
        name: "WebSocket", fields: WebSocketTests.fields,
        pieces: CutAnswer.at("HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n¦Connection: Upgrade\r\n\r\n¦hello¦world"), status: 101,
        afterwards: "helloworld"),
      CutAnswer(
        name: "event stream, chunked",
        pieces: CutAnswer.at(
          status + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n¦9\r\ndata: ¦1\n\n\r\n"
            + "¦9\r\ndata: 2\n\n\r\n¦0\r\n\r\n"),
        body: "data: 1\n\ndata: 2\n\n"),
      CutAnswer(
        name: "event stream, close-delimited",
        pieces: CutAnswer.at(status + "Content-Type: text/event-stream\r\n\r\n¦data: 1\n¦\ndata: 2\n\n"),
        body: "data: 1\n\ndata: 2\n\n", endsByClose: true),
      CutAnswer(
        name: "gzip, Content-Length",
        pieces: ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(count)\r\n\r\n"] + squeezed, body: text),
      CutAnswer(
        name: "gzip, chunked",
        pieces: ["HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"] + chunks + ["0\r\n\r\n"],
        body: text),
      CutAnswer(
        name: "larger than a block",
        pieces: CutAnswer.at(
          "HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n\(filler(10_000))¦\(filler(140_000))¦\(filler(140_000))"
            + "¦\(filler(10_000))"),
        body: filler(300_000)),
    ]
  }()

  private static func filler(_ count: Int) -> String { String(repeating: "0123456789", count: count / 10) }

  private static let held: [CutAnswer] = {
    let answers = [
      CutAnswer(
        name: "401, Content-Length", pieces: CutAnswer.at("HTTP/1.1 401¦ No\r\nContent-Length: 10\r\n\r¦\n¦hello¦worl¦d"),
        status: 401,
        body: "helloworld"),
      CutAnswer(
        name: "401, chunked",
        pieces: CutAnswer.at(
          "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n¦5¦\r\nhel¦lo\r\n¦0¦\r\n¦X-T: ¦1\r\n¦\r\n"), status: 401,
        body: "hello", trailers: ["X-T: 1"]),
      CutAnswer(
        name: "401, close-delimited", pieces: CutAnswer.at("HTTP/1.1 401 No\r\n\r\n¦hello¦world"), status: 401,
        body: "helloworld", endsByClose: true),
      CutAnswer(
        name: "401 that waits on its connection",
        pieces: CutAnswer.at(
          "HTTP/1.1 401 No\r\nContent-Length: 60000\r\n\r\n\(filler(20_000))¦\(filler(20_000))¦\(filler(20_000))"),
        status: 401, body: filler(60_000)),
      CutAnswer(
        name: "401 behind 1xx",
        pieces: CutAnswer.at("HTTP/1.1 103 Early\r\n\r\n¦HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\n¦n¦o"), status: 401,
        body: "no"),
    ]
    return answers.flatMap { answer in
      var refreshed = answer
      refreshed.host = "refreshed.test"
      refreshed.next = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain"
      refreshed.status = 200
      refreshed.body = "again"
      refreshed.trailers = []
      var refused = answer
      refused.host = "refused.test"
      return [refreshed, refused]
    }
  }()

  private static let retried: [CutAnswer] = [
    "HTTP/1.1 503¦ No\r\nContent-Length: 10\r\n\r¦\n¦hello¦worl¦d",
    "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n¦5¦\r\nhel¦lo\r\n¦0¦\r\n¦\r\n",
    "HTTP/1.1 503 No\r\n\r\n¦hello¦world",
  ].map {
    CutAnswer(
      name: "503", host: "retry.test", pieces: CutAnswer.at($0), next: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nagain",
      body: "again", endsByClose: !$0.contains("-"))
  }

  // MARK: The run

  /// All responses, cut everywhere, at the same time on one loop.
  private static func run(_ answers: [CutAnswer], _ wire: Wire) throws {
    let origin = try Origin.hostile()
    let servers = (refreshed: try TokenServer(origin: origin), refused: try TokenServer(origin: origin))
    let hosts = Set(answers.map(\.host)).sorted()
    let cuts = answers.flatMap { Cut.all(of: $0, wire) }
    try origin.scripts(Dictionary(uniqueKeysWithValues: cuts.map { ($0.id, $0.script(standingAt: "cut")) }))

    try withProxy(configuration(hosts, try wire.url(origin), servers)) { proxy in
      // Fetch tokens, and hold the next fetches.
      for host in hosts { #expect(try proxy.ask("http://\(host)/").status == 200) }
      try servers.refreshed.holdNext()
      try servers.refused.set(#"{"queue": [{"gate": "on", "status": 500}]}"#)

      let clients = try cuts.map { _ in try proxy.connect() }
      for (cut, client) in zip(cuts, clients) { try client.send(cut.request) }
      let standing = try origin.standing("cut", count: cuts.count, seconds: 20)
      #expect(standing == cuts.count, "some exchanges never came to their cut")

      expectNoWork(proxy, hosts)
      try origin.release("cut")
      if hosts.contains("refreshed.test") { try servers.refreshed.openGate() }
      if hosts.contains("refused.test") { try servers.refused.openGate() }

      let deadline = Date(timeIntervalSinceNow: 10)
      var faults: [String] = []
      for (cut, client) in zip(cuts, clients) {
        client.timeout = max(0.02, deadline.timeIntervalSinceNow)
        if let fault = cut.fault(client) { faults.append("\(cut): \(fault)") }
      }
      if !faults.isEmpty {
        Issue.record("\(faults.count) of \(cuts.count):\n\(faults.prefix(20).joined(separator: "\n"))")
      }
      // The connections that remain in the pool are usable.
      for number in 0..<20 { expectOwn("after-\(number)", proxy, hosts[number % hosts.count]) }
    }
  }

  /// Other requests of the same loop are served at once, and the process is almost idle.
  private static func expectNoWork(_ proxy: ProxyProcess, _ hosts: [String]) {
    var times: [Double] = []
    for number in 0..<9 {
      let start = Date()
      guard expectOwn("during-\(number)", proxy, hosts[number % hosts.count]) else { return }
      times.append(Date().timeIntervalSince(start))
    }
    times.sort()
    // The median, as any other process may use the machine for a moment.
    #expect(times[4] < 0.3, "others wait: \(times)")
    guard let before = try? Measures(proxy.pid) else { return }
    usleep(500_000)
    guard let after = try? Measures(proxy.pid) else { return }
    let share = Double(after.processorTicks - before.processorTicks) / Double(sysconf(Int32(_SC_CLK_TCK))) / 0.5
    #expect(share < 0.1, "the stalled proxy uses \(share) of a core")
  }

  /// A request whose response says whose it is.
  @discardableResult
  private static func expectOwn(_ mark: String, _ proxy: ProxyProcess, _ host: String) -> Bool {
    do {
      let client = try proxy.connect()
      client.timeout = 3
      try client.send(ProxyProcess.request("GET", "http://\(host)/echo?mark=\(mark)"))
      let answer = try client.readAnswer()
      #expect(answer.status == 200, "\(mark): \(answer.head)")
      #expect(try answer.received().target == "/echo?mark=\(mark)")
      return true
    } catch {
      Issue.record("\(mark) for \(host) was not answered: \(error)")
      return false
    }
  }

  private static func configuration(
    _ hosts: [String], _ origin: String, _ servers: (refreshed: TokenServer, refused: TokenServer)
  ) -> String {
    func token(_ name: String, _ server: TokenServer) -> String {
      """
        \(name):
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(server.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
            timeout: 60s
      """
    }
    return """
      threads: 1
      log: {access: false}
      limits: {upstream_connections: 4000}
      timeouts: {credential: 60s}
      upstreams:
        - {match: api.test, origin: "\(origin)", credential: api, decompress: true}
        - {match: open.test, origin: "\(origin)"}
        - {match: retry.test, origin: "\(origin)", credential: api, retry: {attempts: 2, backoff: 10ms}}
        - {match: refreshed.test, origin: "\(origin)", credential: refreshed}
        - {match: refused.test, origin: "\(origin)", credential: refused}
      credentials:
        api: {bearer: {token: \(Configuration.token)}, allow_plaintext: true}
      \(token("refreshed", servers.refreshed))
      \(token("refused", servers.refused))
      """
  }
}
