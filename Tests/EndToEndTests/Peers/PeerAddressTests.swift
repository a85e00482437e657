import Foundation
import Testing

/// Entries for addresses: the leaf names an address, and its subject is empty.
@Suite struct PeerAddressTests {
  private func works(_ command: String, _ places: [String] = ["192.0.2.10", "[2001:db8::10]:8443"]) throws {
    let match = #"["https://192.0.2.10", "https://[2001:db8::10]:8443"]"#
    try withProxy(try Intercepted.configuration(match: match, top: Peer.Way.clear.lines)) { proxy in
      for place in places {
        let got = try proxy.told(command, "https://\(place)/echo?authorization=\(Configuration.wanted)")
        #expect(got.status == .exited(0), "\(place): \(got.errors)")
        #expect(got.output.contains("Bearer \(Configuration.token)"), "\(place)")
        let refused = try proxy.told(command, "https://\(place)/echo", trusting: false)
        #expect(refused.status != .exited(0), "\(place)")
        #expect(refused.errors.lowercased().contains("certificat"), "\(place): \(refused.errors)")
      }
    }
  }

  private static let java = #"java -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort="${https_proxy##*:}" -cp "$BUILT" Client"#

  @Test(.needs("curl")) func `IPv4 and IPv6 with curl`() throws { try works(#"curl -sSf "$1""#) }

  @Test func `IPv4 and IPv6 with Python requests, strictly`() throws {
    try works(#""$PYTHON" "$PEERS/client.py" --strict requests "$1""#)
  }

  @Test(.needs("go")) func `IPv4 and IPv6 with Go`() throws { try works(#""$BUILT/client" "$1""#) }

  @Test(.needs("javac")) func `IPv4 and IPv6 with Java's HttpURLConnection`() throws {
    try works(Self.java + #" HttpURLConnection "$1""#)
  }

  /// Of an IPv6 address, these send a CONNECT without brackets, which is 400, or look for a name in the leaf.
  @Test(arguments: [
    #""$PYTHON" "$PEERS/client.py" --strict urllib "$1""#, #""$PYTHON" "$PEERS/client.py" --strict httpx "$1""#,
    #"wget -nv -O - ${SSL_CERT_FILE:+--ca-certificate="$SSL_CERT_FILE"} "$1""#,
  ])
  func `IPv4 with clients that cannot ask a proxy for IPv6`(command: String) throws { try works(command, ["192.0.2.10"]) }

  @Test(.needs("javac")) func `IPv4 with Java's HttpClient`() throws {
    try works(Self.java + #" HttpClient "$1""#, ["192.0.2.10"])
  }

  @Test(.enabled(if: Peer.node(atLeast: 24) != nil, "no Node from 24 on is on this machine"), arguments: ["fetch", "https"])
  func `IPv4 with Node`(library: String) throws {
    try works(#"NODE_USE_ENV_PROXY=1 "$NODE" "$PEERS/client.js" \#(library) "$1""#, ["192.0.2.10"])
  }
}
