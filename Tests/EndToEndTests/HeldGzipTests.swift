import Foundation
import Testing

/// A refusal that the proxy holds, inflates and relays in the end.
@Suite struct HeldGzipTests {
  private static let count = 100
  private static let size = 3 << 20
  /// Lines of a number and many `x`: 3 MiB, and less than 16 KiB in gzip.
  private static let text = Array(
    (0..<(size / 1500 + 1)).map { String(format: "%06d", $0) + String(repeating: "x", count: 1494) }.joined().utf8.prefix(size))

  private func squeezed() throws -> String {
    let program = """
      import base64, gzip
      text = b"".join(b"%06d" % i + b"x" * 1494 for i in range(\(Self.size) // 1500 + 1))[:\(Self.size)]
      print(base64.b64encode(gzip.compress(text, 9)).decode())
      """
    let done = try ChildProcess.run(Surroundings.python, ["-c", program])
    let line = done.output.trimmingCharacters(in: .whitespacesAndNewlines)
    guard let data = Data(base64Encoded: line), data.count <= 16 << 10, data.count > 8 << 10 else {
      throw HarnessError("no 16 KiB of gzip: \(line.count), \(done.errors)")
    }
    return StoredGzip.latin1(Array(data))
  }

  private func refusal(_ body: String) -> Origin.Step {
    .send("HTTP/1.1 401 No\r\nContent-Encoding: gzip\r\nContent-Length: \(body.unicodeScalars.count)\r\n\r\n\(body)")
  }

  @Test func `100 clients that do not read a refusal of 16 KiB, which inflates to 3 MiB, cost no 20 MiB`() throws {
    let server = try TokenServer()
    let (origin, id) = (server.origin, Origin.newName())
    try origin.script(id, [.readBody, refusal(try squeezed())])
    let top = "threads: 1\nlog: {access: false}\nlimits: {upstream_connections: 200}\ntimeouts: {credential: 60s}"
    try withProxy(try server.configuration(entry: ["decompress: true"], top: top)) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      try server.set(#"{"queue": [{"gate": "on", "status": 500}]}"#)
      let before = try Measures(proxy.pid, resettingPeak: true).resident
      let clients = try (0..<Self.count).map { _ in try proxy.connect(receiveBuffer: 4096) }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(id)")) }
      try origin.await(id, count: Self.count, state: "complete")
      try origin.await(server.name, gate: "on")
      try server.openGate()
      // The first bytes are there, and the rest waits for the reader.
      for client in clients { #expect(try client.receive(before: Date(timeIntervalSinceNow: 10))) }
      let growth = try Measures(proxy.pid).residentPeak - before
      print("\(Self.count) clients that do not read: \(growth) KiB")
      #expect(growth < 20 << 10, "\(growth) KiB")
      for client in clients.suffix(10) {
        let answer = try client.readAnswer()
        #expect(answer.status == 401 && answer["Content-Encoding"] == nil)
        #expect(answer.body == Self.text)
      }
    }
  }

  @Test func `with a wrong sum it is 502`() throws {
    let server = try TokenServer()
    let gzip = StoredGzip.pieces("refused")
    try withProxy(try server.configuration(entry: ["decompress: true"])) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      for (sum, status) in [(gzip.sum, 401), (String(repeating: "\0", count: 8), 502)] {
        try server.set(#"{"queue": [{"status": 500}]}"#)
        let id = Origin.newName()
        try server.origin.script(id, [.readBody, refusal(gzip.head + gzip.data + sum)])
        let answer = try proxy.ask("http://api.test/?id=\(id)")
        #expect(answer.status == status, "\(answer.head)")
        if status == 401 { #expect(answer.text == "refused") } else { #expect(answer.proxyError == "http_protocol_error") }
      }
    }
  }
}
