import Foundation
import Testing

/// If a response's body is broken before any of it was sent, the proxy answers 502. It does not close the app's connection
/// without a byte.
@Suite struct BrokenWithHeadTests {
  private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

  private static let answers: [(name: String, text: String)] = {
    let gzip = StoredGzip.pieces("hello")
    let zeros = "\0\0\0\0\0\0\0\0"
    func squeezed(_ body: String, chunked: Bool = false) -> String {
      let count = body.unicodeScalars.count
      let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
      return chunked
        ? "\(head)Transfer-Encoding: chunked\r\n\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
        : "\(head)Content-Length: \(count)\r\n\r\n\(body)"
    }
    return [
      ("no size", chunked + "zz\r\nhello\r\n0\r\n\r\n"), ("an empty size", chunked + "\r\nhello\r\n0\r\n\r\n"),
      ("a size that is too large", chunked + "fffffffffffffffff\r\nhello\r\n"),
      ("a chunk that goes on", chunked + "3\r\nhello\r\n0\r\n\r\n"),
      ("a second chunk without a size", chunked + "5\r\nhello\r\nxx\r\nworld\r\n0\r\n\r\n"),
      ("bare LF", chunked + "5\nhello\n0\n\n"), ("a trailer without a colon", chunked + "5\r\nhello\r\n0\r\nno colon\r\n\r\n"),
      ("a trailer with a blank name", chunked + "5\r\nhello\r\n0\r\nX Y: 1\r\n\r\n"),
      ("a gzip sum", squeezed(gzip.head + gzip.data + zeros)),
      ("a gzip sum, chunked", squeezed(gzip.head + gzip.data + zeros, chunked: true)),
      ("a gzip length", squeezed(gzip.head + gzip.data + String(gzip.sum.unicodeScalars.prefix(4)) + "\u{1}\0\0\0")),
      ("no gzip", squeezed("hello, not squeezed")),
    ]
  }()

  @Test(arguments: Wire.allCases) func `what is broken in one read with its head is 502`(wire: Wire) throws {
    let origin = try Origin.hostile()
    let text = "threads: 1\nupstreams: [{match: api.test, origin: \"\(try wire.url(origin))\", decompress: true}]\n"
    var faults: [String] = []
    try withProxy(text) { proxy in
      for (name, text) in Self.answers {
        let head = text.components(separatedBy: "\r\n\r\n")[0] + "\r\n\r\n"
        let rest = String(String.UnicodeScalarView(text.unicodeScalars.dropFirst(head.unicodeScalars.count)))
        // One record, or head and body in separate records of one segment.
        for records in wire.isTLS ? [[text], [head, rest]] : [[text]] {
          do {
            guard let fault = try fault(of: records, origin, proxy) else { continue }
            faults.append("\(name), records: \(records.count): \(fault)")
          } catch { faults.append("\(name), records: \(records.count): \(error)") }
        }
      }
    }
    if !faults.isEmpty { Issue.record("\(faults.count) faults:\n\(faults.joined(separator: "\n"))") }
  }

  private func fault(of records: [String], _ origin: Origin, _ proxy: ProxyProcess) throws -> String? {
    let id = Origin.newName()
    try origin.scripts([id: [[.readBody] + records.map { .record($0) } + [.flush, .awaitClose]]])
    let client = try proxy.connect()
    client.timeout = 3
    try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(id)"))
    let answer = try client.readAnswer()
    guard answer.status == 502, answer.proxyError == "http_protocol_error" else { return answer.head }
    // The app's connection continues, the origin's does not.
    try client.send(ProxyProcess.request("GET", "http://api.test/status/201"))
    guard try client.readAnswer().status == 201 else { return "the connection is out of step" }
    try origin.await(id, state: "closed", seconds: 3)
    return nil
  }
}
