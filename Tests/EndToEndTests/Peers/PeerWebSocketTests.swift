import Foundation
import Testing

/// wss:// URLs, with a client and a server by other hands; the server wants the entry's credential.
@Suite struct PeerWebSocketTests {
  private func withServer(over way: Peer.Way, _ body: (ProxyProcess) throws -> Void) throws {
    let server = try ChildProcess(
      Surroundings.python,
      [Surroundings.support + "/websocket_server.py", try Surroundings.pki(), "Bearer \(Configuration.token)"])
    guard let port = server.awaitLine(where: { _ in true }) else { throw HarnessError("no server: \(server.errors)") }
    let entry = """
      upstreams:
        - {match: "https://api.test", origin: "https://localhost:\(port)", credential: api}
      credentials:
        api: {bearer: {token: \(Configuration.token)}}

      """
    try withProxy(way.lines + entry, body)
  }

  @Test(arguments: Peer.Way.allCases)
  func `Python's websockets sends and receives messages`(way: Peer.Way) throws {
    try withServer(over: way) { proxy in
      let child = try proxy.tell(#""$PYTHON" "$PEERS/streams.py" websockets wss://api.test/"#, [])
      try #require(child.awaitLine { $0 == "hello" } != nil, "\(child.errors)")
      for message in ["one", String(repeating: "x", count: 60_000), "three"] {
        child.send(message + "\n")
        try #require(child.awaitLine { $0 == message } != nil, "\(child.errors)")
      }
      child.closeInput()
      #expect(child.awaitEnd() == .exited(0), "\(child.errors)")
    }
  }

  @Test(.needs("curl"), arguments: Peer.Way.allCases)
  func `curl is switched, and gets the greeting as a frame`(way: Peer.Way) throws {
    try withServer(over: way) { proxy in
      let fields = WebSocketTests.fields.map { "-H '\($0)'" }.joined(separator: " ")
      let child = try proxy.tell("exec " + PeerStreamsTests.curl + " -i \(fields) https://api.test/", [])
      #expect(child.awaitLine { $0.hasPrefix("HTTP/1.1 101") } != nil, "\(child.errors)")
      #expect(child.awaitLine { $0.hasSuffix("hello") } != nil, "\(child.output)\(child.errors)")
      child.signal(SIGTERM)
      #expect(child.awaitEnd() == .killed(signal: SIGTERM))
    }
  }

  @Test func `a client without the CA gets nothing`() throws {
    try withServer(over: .clear) { proxy in
      let refused = try proxy.told(#""$PYTHON" "$PEERS/streams.py" websockets wss://api.test/"#, trusting: false)
      #expect(refused.status == .exited(1) && refused.errors.contains("CERTIFICATE_VERIFY_FAILED"), "\(refused)")
    }
  }
}
