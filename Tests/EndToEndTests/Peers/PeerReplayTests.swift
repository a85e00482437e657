import Foundation
import Testing

/// A refused token inside of TLS: the client sees the answer to the second attempt alone.
@Suite struct PeerReplayTests {
  @Test(.needs("curl"), arguments: Peer.Way.allCases)
  func `a 401 is replayed with a new token, with and without a body`(way: Peer.Way) throws {
    let server = try TokenServer()
    let configuration = try server.configuration(
      "refresh_window: {interval: 1s, attempts: 1000}", match: "https://api.test", top: way.lines)
    // The largest body that is kept by default is less than the file of 1 MiB.
    let body = Surroundings.folder + "/" + server.name
    try ProxyProcess.write(String(repeating: "0123456789abcdef", count: 2048), to: body)
    try withProxy(configuration) { proxy in
      for client in [
        PeerStreamsTests.curl + #" ${2:+--data-binary @"$2"} "$1""#, #""$PYTHON" "$PEERS/client.py" requests "$@""#,
        #""$PYTHON" "$PEERS/client.py" httpx "$@""#,
      ] {
        for file in [[], [body]] {
          let url = "https://api.test/api/\(server.name)/x"
          func ask() throws -> Received {
            let child = try proxy.tell(client, [url] + file)
            child.closeInput()
            guard child.awaitEnd() == .exited(0) else { throw HarnessError("\(client): \(child.errors)") }
            return try JSONDecoder().decode(Received.self, from: Data(child.output.utf8))
          }
          let before = try #require(try ask()["Authorization"])
          try server.set(#"{"revoke": true, "forget": true}"#)
          let after = try ask()
          #expect(after["Authorization"] != before && after.body_length == file.count * 32_768)
          let uses = try server.state().uses
          #expect(uses.map(\.status) == [401, 200])
          #expect(uses.allSatisfy { $0.body_length == file.count * 32_768 })
        }
      }
    }
  }
}
