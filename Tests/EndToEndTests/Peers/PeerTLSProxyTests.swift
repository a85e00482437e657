import Foundation
import Testing

/// The same through a proxy that is itself spoken to over TLS, of which `ca env` says `https_proxy=https://...`.
@Suite struct PeerTLSProxyTests {
  @Test(.needs("curl")) func `curl, which wants the proxy's CA apart`() throws {
    try Peer.works(
      #"curl -sSf ${SSL_CERT_FILE:+--proxy-cacert "$SSL_CERT_FILE"} ${2:+--data-binary @"$2"} "$1""#, over: .tls,
      line: "`--proxy-cacert $SSL_CERT_FILE`")
  }

  @Test(arguments: ["requests", "httpx"])
  func `Python, as its version verifies, and strictly`(library: String) throws {
    for option in ["", "--strict"] {
      try Peer.works(
        #""$PYTHON" "$PEERS/client.py" \#(option) \#(library) "$@""#, over: .tls, line: Peer.lineOfPython(library))
    }
  }

  @Test(.needs("go")) func `Go net-http`() throws {
    try Peer.works(#""$BUILT/client" "$@""#, over: .tls, line: "| Go: net/http |")
  }

  @Test(.enabled(if: Peer.node(atLeast: 24) != nil, "no Node from 24 on is on this machine"), arguments: ["fetch", "https"])
  func `Node from 24 on, with the environment`(library: String) throws {
    try Peer.works(
      #"NODE_USE_ENV_PROXY=1 "$NODE" "$PEERS/client.js" \#(library) "$@""#, over: .tls, line: "| Node 24 or newer")
  }
}
