import Foundation
import Testing

/// Clients by other hands ask for https:// URLs. The rest of what each needs is in the README's table, as `line`.
@Suite struct PeerClientsTests {
  @Test(.needs("curl")) func `curl`() throws {
    try Peer.works(#"curl -sSf ${2:+--data-binary @"$2"} "$1""#, line: "| curl | `CURL_CA_BUNDLE` | `https_proxy` |")
  }

  @Test(.needs("wget")) func `wget, which is told of the CA by an option alone`() throws {
    try Peer.works(
      #"wget -nv -O - ${SSL_CERT_FILE:+--ca-certificate="$SSL_CERT_FILE"} ${2:+--post-file="$2"} "$1""#,
      line: "`--ca-certificate=$SSL_CERT_FILE`")
  }

  @Test(arguments: ["urllib", "requests", "httpx"])
  func `Python, as its version verifies, and strictly`(library: String) throws {
    for option in ["", "--strict"] {
      try Peer.works(#""$PYTHON" "$PEERS/client.py" \#(option) \#(library) "$@""#, line: Peer.lineOfPython(library))
    }
  }

  @Test(
    .enabled(if: Peer.laterPython != nil, "no Python from 3.13 on is on this machine"),
    arguments: ["urllib", "requests", "httpx"])
  func `Python from 3_13 on, which verifies strictly by default`(library: String) throws {
    try Peer.works(
      #"PYTHONPATH="$PACKAGES" "$PYTHON_LATER" "$PEERS/client.py" \#(library) "$@""#, line: Peer.lineOfPython(library))
  }

  @Test(.needs("go")) func `Go net-http`() throws {
    try Peer.works(#""$BUILT/client" "$@""#, line: "| Go: net/http | `SSL_CERT_FILE`, on Linux alone | `https_proxy`")
  }

  @Test(.needs("javac"), arguments: ["HttpClient", "HttpURLConnection"])
  func `Java, whose proxy is a property`(library: String) throws {
    let command = { (options: String) in
      #"java -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort="${https_proxy##*:}" \#(options) -cp "$BUILT" Client \#(library) "$@""#
    }
    try Peer.works(
      command(""), withPassword: command("-Dproxy.user=app -Dproxy.password=\(Peer.password)"),
      line: "`-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128`")
  }

  @Test(.needs("node")) func `Node of any version, with an agent of the app`() throws {
    try Peer.works(#"node "$PEERS/client.js" agent "$@""#, line: "| Node before 24 | `NODE_EXTRA_CA_CERTS`")
  }

  @Test(
    .enabled(if: Peer.node(atLeast: 24) != nil, "no Node from 24 on is on this machine"), arguments: ["fetch", "https"])
  func `Node from 24 on, with the environment`(library: String) throws {
    try Peer.works(
      #"NODE_USE_ENV_PROXY=1 "$NODE" "$PEERS/client.js" \#(library) "$@""#,
      line: "| `NODE_EXTRA_CA_CERTS` | `NODE_USE_ENV_PROXY=1`, `https_proxy` |")
  }

  @Test(.needs("ruby")) func `Ruby net-http`() throws {
    try Peer.works(#"ruby "$PEERS/client.rb" "$@""#, line: "| Ruby: net/http | `SSL_CERT_FILE` | `http_proxy`")
  }

  @Test(.needs("ruby")) func `Ruby net-http does not look at https_proxy`() throws {
    try Peer.works(#"unset https_proxy; ruby "$PEERS/client.rb" "$@""#, line: "`https_proxy` is ignored")
  }

  @Test(.needs("LWP for https", "perl -MLWP::Protocol::https -e 1")) func `Perl LWP`() throws {
    try Peer.works(
      #"${SSL_CERT_FILE:+env PERL_LWP_SSL_CA_FILE="$SSL_CERT_FILE"} perl "$PEERS/client.pl" LWP "$@""#,
      line: "`PERL_LWP_SSL_CA_FILE=$SSL_CERT_FILE`")
  }

  @Test(.needs("IO::Socket::SSL", "perl -MIO::Socket::SSL -e 1")) func `Perl HTTP-Tiny`() throws {
    try Peer.works(#"perl "$PEERS/client.pl" Tiny "$@""#, line: "| Perl: HTTP::Tiny | `SSL_CERT_FILE` | `https_proxy` |")
  }

  @Test(.needs("PHP with curl", "php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'"))
  func `PHP curl, which is told of the CA by its ini alone`() throws {
    try Peer.works(
      #"php ${SSL_CERT_FILE:+-d curl.cainfo="$SSL_CERT_FILE"} "$PEERS/client.php" curl "$@""#,
      line: "`curl.cainfo`")
  }

  @Test(.needs("PHP", "command -v php")) func `PHP streams`() throws {
    try Peer.works(#"php "$PEERS/client.php" streams "$@""#, withPassword: nil, line: "| PHP: streams | `SSL_CERT_FILE`")
  }
}
