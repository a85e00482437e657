import Foundation
import Testing

/// What an origin sends without being asked belongs to no request, on whatever way its connection came back to the pool. One loop and
/// one connection: whoever comes next would get it.
@Suite(.serialized) struct ForeignAnswerTests {
  /// How what nobody asked for comes behind an answer.
  private enum Arrival: CaseIterable {
    case inOneRecord, inOneSegment
    /// A part that TLS cannot decrypt yet, nor HTTP parse; the rest later.
    case inPart
  }

  /// A way on which a connection comes back to the pool.
  private struct Way {
    let name: String
    var host = "api.test"
    var method = "GET"
    var body: String?
    let answer: String
    /// What the same request gets when it is sent again.
    var next: String?
    var status = 200
    var text = "own"
  }

  private static let foreign = "HTTP/1.1 200 OK\r\nX-Whose: foreign\r\nContent-Length: 7\r\n\r\nforeign"
  private static let own = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown"

  private static let ways: [Way] = {
    let gzip = StoredGzip.text("own")
    return [
      Way(name: "Content-Length", answer: own),
      Way(name: "no content", answer: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", text: ""),
      Way(name: "chunked", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nown\r\n0\r\n\r\n"),
      Way(name: "trailers", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nown\r\n0\r\nX-T: 1\r\n\r\n"),
      Way(name: "HEAD", method: "HEAD", answer: "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", text: ""),
      Way(name: "204", answer: "HTTP/1.1 204 No\r\n\r\n", status: 204, text: ""),
      Way(name: "304", answer: "HTTP/1.1 304 No\r\nContent-Length: 100\r\n\r\n", status: 304, text: ""),
      Way(name: "behind 1xx", answer: "HTTP/1.1 103 Early\r\n\r\n" + own),
      Way(name: "POST", method: "POST", body: "body", answer: own),
      Way(
        name: "gzip",
        answer: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(gzip.unicodeScalars.count)\r\n\r\n" + gzip),
      Way(
        name: "bulk", answer: "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + String(repeating: "own!", count: 50_000),
        text: String(repeating: "own!", count: 50_000)),
      Way(name: "refreshed 401", host: "refreshed.test", answer: "HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno", next: own),
      Way(name: "refreshed 401, no content", host: "refreshed.test", answer: "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n", next: own),
      Way(
        name: "refreshed 401, chunked", host: "refreshed.test",
        answer: "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", next: own),
      Way(
        name: "relayed 401", host: "refused.test", answer: "HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nown", status: 401),
      Way(name: "repeated 503", host: "retry.test", answer: "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", next: own),
      Way(name: "repeated 503, no content", host: "retry.test", answer: "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", next: own),
      Way(
        name: "repeated 503, chunked", host: "retry.test",
        answer: "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", next: own),
      Way(
        name: "417", method: "POST", body: String(repeating: "b", count: 100_000),
        answer: "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno", next: own),
    ]
  }()

  @Test(arguments: Wire.allCases) func `nobody gets an answer that nobody asked for`(wire: Wire) throws {
    try withHostile(wire) { proxy, origin in
      var cases: [(way: Way, arrival: Arrival, isAwaited: Bool)] = []
      for way in Self.ways {
        for arrival in Arrival.allCases where wire.isTLS || arrival != .inOneRecord {
          for isAwaited in [false, true] { cases.append((way, arrival, isAwaited)) }
        }
      }
      each(cases) { (way, arrival, isAwaited) in
        let what = "\(way.name), \(arrival), \(isAwaited ? "with one in line" : "with nobody in line")"
        let id = Origin.newName()
        try origin.scripts([id: script(way, arrival, id)])
        let client = try connect(proxy)
        try client.send(ProxyProcess.request(way.method, "http://\(way.host)/\(id)?id=\(id)", body: way.body))
        var next: RawConnection?
        #expect(try origin.standing("begin-\(id)", count: 1) == 1)
        if isAwaited { next = try ask(proxy, "line-\(id)", way.host, standsInLine: true) }
        try origin.release("begin-\(id)")
        let answer = try client.readAnswer(to: way.method)
        #expect(answer.status == way.status && answer.text == way.text, "\(what): \(answer.head)\(answer.text.prefix(100))")
        for number in 0..<2 {
          try expectOwn(try next ?? ask(proxy, "\(number)-\(id)", way.host), next == nil ? "\(number)-\(id)" : "line-\(id)", what)
          next = nil
        }
        try origin.release("part-\(id)")
        try expectOwn(try ask(proxy, "last-\(id)", way.host), "last-\(id)", what)
      }
    }
  }

  @Test(arguments: Wire.allCases) func `an idle connection whose origin speaks is closed`(wire: Wire) throws {
    try withHostile(wire) { proxy, origin in
      let ways = Self.ways.filter { $0.next == nil && $0.host == "api.test" }
      each(ways) { way in
        let id = Origin.newName()
        try origin.scripts([id: [[.readBody, .record(way.answer), .flush, .stand("late-\(id)"), .send(Self.foreign), .awaitClose]]])
        let client = try connect(proxy)
        try client.send(ProxyProcess.request(way.method, "http://\(way.host)/\(id)?id=\(id)", body: way.body))
        #expect(try client.readAnswer(to: way.method).text == way.text)
        try origin.release("late-\(id)")
        try origin.await(id, state: "closed", seconds: 5)
        try expectOwn(try ask(proxy, "late-\(id)", way.host), "late-\(id)", way.name)
      }
    }
  }

  /// A read that fills its block says nothing about what is behind it.
  @Test(arguments: Wire.allCases) func `an answer that fills a block exactly hides nothing behind it`(wire: Wire) throws {
    try withHostile(wire) { proxy, origin in
      // Blocks have 32 and 128 KiB, less what framing needs before and behind.
      let sizes = Array(32_732...32_772) + Array(131_036...131_076)
      for size in sizes where size.isMultiple(of: 4) {
        for headIsApart in [false, true] {
          let head = "HTTP/1.1 200 OK\r\nContent-Length: "
          // Either all of the answer or its body has this size.
          let count = headIsApart ? size : size - head.utf8.count - String(size).utf8.count - 4
          let body = String(repeating: "x", count: count)
          let id = Origin.newName()
          let full = "\(head)\(count)\r\n\r\n"
          let begin: [Origin.Step] =
            headIsApart ? [.record(full), .flush, .stand(id), .record(body + Self.foreign)] : [.record(full + body + Self.foreign)]
          try origin.scripts([id: [begin + [.flush]]])
          let client = try connect(proxy)
          try client.send(ProxyProcess.request("GET", "http://api.test/\(id)?id=\(id)"))
          var answer = try client.readHead()
          try origin.release(id)
          try client.readBody(&answer)
          #expect(answer.text == body, "\(size)")
          try expectOwn(try ask(proxy, "size-\(id)", "api.test"), "size-\(id)", "\(size), head apart: \(headIsApart)")
        }
      }
    }
  }

  // MARK: Tools

  private func script(_ way: Way, _ arrival: Arrival, _ id: String) -> [[Origin.Step]] {
    // The 417 comes before the body.
    let begin: [Origin.Step] = (way.name == "417" ? [] : [.readBody]) + [.stand("begin-\(id)")]
    let rest: [Origin.Step]
    switch arrival {
    case .inOneRecord: rest = [.record(way.answer + Self.foreign), .flush]
    case .inOneSegment: rest = [.record(way.answer), .record(Self.foreign), .flush]
    case .inPart: rest = [.record(way.answer), .record(Self.foreign), .cut(1, 12), .stand("part-\(id)"), .flush]
    }
    return [begin + rest] + (way.next.map { [[.readBody, .send($0)]] } ?? [])
  }

  private func connect(_ proxy: ProxyProcess) throws -> RawConnection {
    let client = try proxy.connect()
    client.timeout = 5
    return client
  }

  /// Another client's request, whose answer says whose it is.
  /// - Parameter standsInLine: waits until the loop has seen it.
  private func ask(_ proxy: ProxyProcess, _ mark: String, _ host: String, standsInLine: Bool = false) throws -> RawConnection {
    let client = try connect(proxy)
    try client.send(ProxyProcess.request("GET", "http://\(host)/echo?mark=\(mark)"))
    // The only loop answers this one itself, and after it has read the other.
    if standsInLine { #expect(try proxy.ask("http://unlisted.test/").status == 403) }
    return client
  }

  private func expectOwn(_ client: RawConnection, _ mark: String, _ what: String) throws {
    let answer: Answer
    do { answer = try client.readAnswer() } catch { throw HarnessError("\(what), \(mark): \(error)") }
    guard answer["X-Whose"] == nil else { throw HarnessError("\(what): \(mark) got the foreign answer") }
    guard answer.status == 200 else { throw HarnessError("\(what): \(mark) got \(answer.head)\(answer.text)") }
    #expect(try answer.received().target == "/echo?mark=\(mark)", "\(what)")
  }

  private func withHostile(_ wire: Wire, _ body: (ProxyProcess, Origin) throws -> Void) throws {
    let origin = try Origin.hostile()
    let refreshed = try TokenServer(origin: origin)
    let refused = try TokenServer(#"{"same": true}"#, origin: origin)
    func token(_ name: String, _ server: TokenServer) -> String {
      """
        \(name):
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(server.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
            refresh_window: {interval: 1s, attempts: 1000}
      """
    }
    let url = try wire.url(origin)
    let text = """
      threads: 1
      limits: {upstream_connections: 1}
      upstreams:
        - {match: api.test, origin: "\(url)", credential: api, decompress: true}
        - {match: retry.test, origin: "\(url)", credential: api, retry: {attempts: 2, backoff: 10ms}}
        - {match: refreshed.test, origin: "\(url)", credential: refreshed}
        - {match: refused.test, origin: "\(url)", credential: refused}
      credentials:
        api: {bearer: {token: \(Configuration.token)}, allow_plaintext: true}
      \(token("refreshed", refreshed))
      \(token("refused", refused))
      """
    try withProxy(text) { proxy in
      for host in ["api.test", "refreshed.test", "refused.test"] { #expect(try proxy.ask("http://\(host)/").status == 200) }
      try body(proxy, origin)
    }
  }
}
