import Foundation
import Testing

/// Clients by other hands ask for https:// URLs. The rest of what each needs is in the README's table, as `line`.
@Suite struct PeerClientsTests {
  @Test(.needs("curl")) func `curl`() throws {
    try works(#"curl -sSf ${2:+--data-binary @"$2"} "$1""#, line: "| curl | `CURL_CA_BUNDLE` | `https_proxy` |")
  }

  @Test(.needs("wget")) func `wget, which is told of the CA by an option alone`() throws {
    try works(
      #"wget -nv -O - ${SSL_CERT_FILE:+--ca-certificate="$SSL_CERT_FILE"} ${2:+--post-file="$2"} "$1""#,
      line: "`--ca-certificate=$SSL_CERT_FILE`")
  }

  @Test(arguments: ["urllib", "requests", "httpx"])
  func `Python, as its version verifies, and strictly`(library: String) throws {
    for option in ["", "--strict"] {
      try works(#""$PYTHON" "$PEERS/client.py" \#(option) \#(library) "$@""#, line: python(library))
    }
  }

  private func python(_ library: String) -> String {
    library == "requests"
      ? "| Python: requests | `REQUESTS_CA_BUNDLE` | `https_proxy` |"
      : "| Python: urllib, httpx | `SSL_CERT_FILE` | `https_proxy` |"
  }

  @Test(
    .enabled(if: Peer.laterPython != nil, "no Python from 3.13 on is on this machine"),
    arguments: ["urllib", "requests", "httpx"])
  func `Python from 3_13 on, which verifies strictly by default`(library: String) throws {
    try works(#"PYTHONPATH="$PACKAGES" "$PYTHON_LATER" "$PEERS/client.py" \#(library) "$@""#, line: python(library))
  }

  @Test(.needs("go")) func `Go net-http`() throws {
    try works(#""$BUILT/client" "$@""#, line: "| Go: net/http | `SSL_CERT_FILE`, on Linux alone | `https_proxy`")
  }

  @Test(.needs("javac"), arguments: ["HttpClient", "HttpURLConnection"])
  func `Java, whose proxy is a property`(library: String) throws {
    let command = { (options: String) in
      #"java -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort="${https_proxy##*:}" \#(options) -cp "$BUILT" Client \#(library) "$@""#
    }
    try works(
      command(""), withPassword: command("-Dproxy.user=app -Dproxy.password=\(Self.password)"),
      line: "`-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128`")
  }

  @Test(.needs("node")) func `Node of any version, with an agent of the app`() throws {
    try works(#"node "$PEERS/client.js" agent "$@""#, line: "| Node before 24 | `NODE_EXTRA_CA_CERTS`")
  }

  @Test(
    .enabled(if: Peer.node(atLeast: 24) != nil, "no Node from 24 on is on this machine"), arguments: ["fetch", "https"])
  func `Node from 24 on, with the environment`(library: String) throws {
    try works(
      #"NODE_USE_ENV_PROXY=1 "$NODE" "$PEERS/client.js" \#(library) "$@""#,
      line: "| `NODE_EXTRA_CA_CERTS` | `NODE_USE_ENV_PROXY=1`, `https_proxy` |")
  }

  @Test(.needs("ruby")) func `Ruby net-http`() throws {
    try works(#"ruby "$PEERS/client.rb" "$@""#, line: "| Ruby: net/http | `SSL_CERT_FILE` | `http_proxy`")
  }

  @Test(.needs("ruby")) func `Ruby net-http does not look at https_proxy`() throws {
    try works(#"unset https_proxy; ruby "$PEERS/client.rb" "$@""#, line: "`https_proxy` is ignored")
  }

  @Test(.needs("LWP for https", "perl -MLWP::Protocol::https -e 1")) func `Perl LWP`() throws {
    try works(
      #"${SSL_CERT_FILE:+env PERL_LWP_SSL_CA_FILE="$SSL_CERT_FILE"} perl "$PEERS/client.pl" LWP "$@""#,
      line: "`PERL_LWP_SSL_CA_FILE=$SSL_CERT_FILE`")
  }

  @Test(.needs("IO::Socket::SSL", "perl -MIO::Socket::SSL -e 1")) func `Perl HTTP-Tiny`() throws {
    try works(#"perl "$PEERS/client.pl" Tiny "$@""#, line: "| Perl: HTTP::Tiny | `SSL_CERT_FILE` | `https_proxy` |")
  }

  @Test(.needs("PHP with curl", "php -r 'exit(function_exists(\"curl_init\") ? 0 : 1);'"))
  func `PHP curl, which is told of the CA by its ini alone`() throws {
    try works(
      #"php ${SSL_CERT_FILE:+-d curl.cainfo="$SSL_CERT_FILE"} "$PEERS/client.php" curl "$@""#,
      line: "`curl.cainfo`")
  }

  @Test(.needs("PHP", "command -v php")) func `PHP streams`() throws {
    try works(#"php "$PEERS/client.php" streams "$@""#, withPassword: nil, line: "| PHP: streams | `SSL_CERT_FILE`")
  }

  private static let password = "pw-5ecret"

  /// A file of the origin's pattern.
  private static let mebibyte = Result {
    let file = Surroundings.folder + "/mebibyte"
    let write = "import origin, sys; sys.stdout.buffer.write(b''.join(origin.pattern_pieces(1 << 20)))"
    let made = try Peer.sh(#"cd "$PEERS/.." && "$PYTHON" -c "$1" > "$2""#, [write, file])
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    return file
  }

  private func works(_ command: String, line: String) throws { try works(command, withPassword: command, line: line) }

  /// GET with the entry's credential, POST of 1 MiB, a refusal where the client is not told of the CA; and a password with CONNECT.
  /// - Parameters:
  ///   - command: its `$1` is the URL, `$2` a file to post.
  ///   - withPassword: nil: this client has no place for a password.
  private func works(_ command: String, withPassword: String?, line: String) throws {
    let readme = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    #expect(readme.contains(line), "\(line)")
    let top = "intercept: {ca: {generate: ca}, publish: published}"
    try withProxy(try Intercepted.configuration(top: top)) { proxy throws in
      try gets(proxy, command)
      try posts(proxy, command)
      try refuses(proxy, command)
    }
    guard let withPassword else { return }
    let clients = "clients: [{name: app, password: \(Self.password)}]"
    try withProxy(try Intercepted.configuration(top: top + "\n" + clients)) { proxy throws in
      try gets(proxy, withPassword, password: "app:\(Self.password)")
      let without = try proxy.told(command, "https://api.test/echo")
      #expect(without.status != .exited(0) && !without.output.contains(Configuration.token), "\(without)")
    }
  }

  private func gets(_ proxy: ProxyProcess, _ command: String, password: String? = nil) throws {
    let url = "https://api.test/echo?authorization=\(Configuration.wanted)"
    let got = try proxy.told(command, url, password: password)
    #expect(got.status == .exited(0), "\(got.errors)")
    let received = try JSONDecoder().decode(Received.self, from: Data(got.output.utf8))
    #expect(received.method == "GET" && received.all("Authorization") == ["Bearer \(Configuration.token)"])
    #expect(received["Host"]?.hasPrefix("localhost:") == true && received.tls?.sni == "localhost")
    #expect(received["Proxy-Authorization"] == nil)
  }

  private func posts(_ proxy: ProxyProcess, _ command: String) throws {
    let file = try Self.mebibyte.get()
    let posted = try proxy.told(command, "https://api.test/echo", file)
    #expect(posted.status == .exited(0), "\(posted.errors)")
    let received = try JSONDecoder().decode(Received.self, from: Data(posted.output.utf8))
    #expect(received.method == "POST" && received.body_length == 1 << 20 && received.matches_pattern)
    #expect(received["Authorization"] == "Bearer \(Configuration.token)")
  }

  private func refuses(_ proxy: ProxyProcess, _ command: String) throws {
    let name = Origin.newName()
    let refused = try proxy.told(command, "https://api.test/echo?id=\(name)", trusting: false)
    #expect(refused.status != .exited(0))
    #expect(refused.errors.lowercased().contains("certificat"), "\(refused.errors)")
    #expect(try Origin.shared().exchanges(name).isEmpty)
  }
}
