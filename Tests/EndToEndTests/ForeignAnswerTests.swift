import Foundation
import Testing

/// Unexpected bytes of an origin belong to no request, however their connection came back to the pool. With one loop and one
/// connection the next request would get them. The proxy closes such a connection, and counts it.
@Suite(.serialized) struct ForeignAnswerTests {
  /// How unexpected bytes arrive after a response.
  private enum Arrival: CaseIterable {
    case inOneRecord, inOneSegment
    /// A part that neither TLS can decrypt nor HTTP can parse yet; the rest later.
    case inPart
    /// At once, but a receive stops at the mark of TCP urgent data, which is between them.
    case behindUrgentByte
  }

  /// A way for a connection to come back to the pool.
  private struct Way {
    let name: String
    var host = "api.test"
    var method = "GET"
    var body: String?
    let answer: String
    /// The response to the same request when the proxy sends it again.
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
      Way(
        name: "refreshed 401, no content", host: "refreshed.test", answer: "HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n",
        next: own),
      Way(
        name: "refreshed 401, chunked", host: "refreshed.test",
        answer: "HTTP/1.1 401 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", next: own),
      Way(
        name: "relayed 401", host: "refused.test", answer: "HTTP/1.1 401 No\r\nContent-Length: 3\r\n\r\nown", status: 401),
      Way(name: "repeated 503", host: "retry.test", answer: "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno", next: own),
      Way(
        name: "repeated 503, no content", host: "retry.test", answer: "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n", next: own),
      Way(
        name: "repeated 503, chunked", host: "retry.test",
        answer: "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n", next: own),
      Way(
        name: "417", method: "POST", body: String(repeating: "b", count: 100_000),
        answer: "HTTP/1.1 417 No\r\nContent-Length: 2\r\n\r\nno", next: own),
    ]
  }()

  @Test(arguments: Wire.allCases) func `nobody gets an answer that nobody asked for`(wire: Wire) throws {
    var cases: [(String, SoleConnection.Case)] = []
    for way in Self.ways {
      for arrival in Arrival.allCases where wire.isTLS || arrival != .inOneRecord {
        for hasLine in [false, true] {
          let name = "\(way.name), \(arrival), \(hasLine ? "one" : "nobody") in line"
          cases.append((name, { try Self.fault(of: way, arrival, hasLine, $0) }))
        }
      }
    }
    // A body that was not sent whole ends its connection anyway.
    try SoleConnection.run(wire, discards: { $0.hasPrefix("417") ? 0 : 1 }, cases)
  }

  @Test(arguments: Wire.allCases) func `an idle connection whose origin speaks is closed`(wire: Wire) throws {
    try SoleConnection.run(
      wire,
      Self.ways.filter { $0.next == nil && $0.host == "api.test" }.map { way in
        (
          way.name,
          { world in
            let id = Origin.newName()
            try world.origin.scripts([
              id: [[.readBody, .record(way.answer), .flush, .stand(id), .send(Self.foreign), .awaitClose]]
            ])
            let answer = try world.ask(way.method, way.host, id, body: way.body).readAnswer(to: way.method)
            guard answer.text == way.text else { return "its own answer is \(answer.head)\(answer.text.prefix(100))" }
            try world.origin.release(id)
            try world.origin.await(id, state: "closed", seconds: 5)
            return try world.faultOfNext(way.host)
          }
        )
      })
  }

  /// A read that fills its block says nothing about further bytes.
  @Test(arguments: Wire.allCases) func `an answer that fills a block exactly hides nothing behind it`(wire: Wire) throws {
    // Blocks have 32 and 128 KiB, less the space for framing before and after.
    let sizes = (Array(32_732...32_772) + Array(131_036...131_076)).filter { $0.isMultiple(of: 4) }
    var cases: [(String, SoleConnection.Case)] = []
    for size in sizes {
      // Either the whole response has this size, or its body, which comes alone.
      for headIsApart in [false, true] {
        let name = "\(headIsApart ? "a body" : "an answer") of \(size)"
        cases.append((name, { try Self.fault(ofSize: size, headIsApart, $0) }))
      }
    }
    try SoleConnection.run(wire, cases)
  }

  private static func fault(of way: Way, _ arrival: Arrival, _ hasLine: Bool, _ world: SoleConnection) throws -> String? {
    // The proxy remembers a 417.
    if way.name == "417" { try world.restart() }
    let id = Origin.newName()
    try world.origin.scripts([id: script(way, arrival, id)])
    let client = try world.ask(way.method, way.host, id, body: way.body)
    guard try world.origin.standing("begin-\(id)", count: 1) == 1 else { return "it did not reach the origin" }
    let line = hasLine ? try world.askInLine(way.host) : nil
    if arrival == .behindUrgentByte { try world.pause() }
    try world.origin.release("begin-\(id)")
    if arrival == .behindUrgentByte {
      guard try world.origin.standing("sent-\(id)", count: 1) == 1 else { return "it did not leave the origin" }
      world.goOn()
      try world.origin.release("sent-\(id)")
    }
    let answer = try client.readAnswer(to: way.method)
    guard answer.status == way.status, answer.text == way.text else {
      return "its own answer is \(answer.head)\(answer.text.prefix(100))"
    }
    if let line, let fault = try world.faultOf(line) { return fault }
    for _ in 0..<2 { if let fault = try world.faultOfNext(way.host) { return fault } }
    try world.origin.release("part-\(id)")
    return try world.faultOfNext(way.host)
  }

  private static func fault(ofSize size: Int, _ headIsApart: Bool, _ world: SoleConnection) throws -> String? {
    let begin = "HTTP/1.1 200 OK\r\nContent-Length: "
    let count = headIsApart ? size : size - begin.utf8.count - String(size).utf8.count - 4
    let (head, body) = ("\(begin)\(count)\r\n\r\n", String(repeating: "x", count: count))
    let id = Origin.newName()
    let steps: [Origin.Step] =
      headIsApart ? [.record(head), .flush, .stand(id), .record(body + Self.foreign)] : [.record(head + body + Self.foreign)]
    try world.origin.scripts([id: [steps + [.flush]]])
    let client = try world.ask("GET", "api.test", id)
    var answer = try client.readHead()
    try world.origin.release(id)
    try client.readBody(&answer)
    return answer.text == body ? try world.faultOfNext("api.test") : "another body"
  }

  private static func script(_ way: Way, _ arrival: Arrival, _ id: String) -> [[Origin.Step]] {
    // The 417 comes before the body.
    let begin: [Origin.Step] = (way.name == "417" ? [] : [.readBody]) + [.stand("begin-\(id)")]
    let rest: [Origin.Step]
    switch arrival {
    case .inOneRecord: rest = [.record(way.answer + Self.foreign), .flush]
    case .inOneSegment: rest = [.record(way.answer), .record(Self.foreign), .flush]
    case .inPart: rest = [.record(way.answer), .record(Self.foreign), .cut(1, 12), .stand("part-\(id)"), .flush]
    case .behindUrgentByte: rest = [.record(way.answer), .record(Self.foreign), .urgent(1), .stand("sent-\(id)")]
    }
    return [begin + rest] + (way.next.map { [[.readBody, .send($0)]] } ?? [])
  }
}
