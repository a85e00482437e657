import Foundation
import Testing

extension Peer {
  /// How clients reach the proxy.
  enum Way: CaseIterable {
    case clear
    /// `https_proxy=https://...`: TLS in TLS.
    case tls

    /// A listener, and what clients are given.
    var lines: String {
      let listener = self == .clear ? "127.0.0.1:0" : "{address: 127.0.0.1:0, tls: {names: [localhost]}}"
      return "listen: \(listener)\nintercept: {ca: {generate: ca}, publish: published}\n"
    }
  }

  static func configuration(over way: Way, top: String = "") throws -> String {
    try Intercepted.configuration(top: way.lines + top)
  }

  static func lineOfPython(_ library: String) -> String {
    library == "requests"
      ? "| Python: requests | `REQUESTS_CA_BUNDLE` | `https_proxy` |"
      : "| Python: urllib, httpx | `SSL_CERT_FILE` | `https_proxy` |"
  }

  static let password = "pw-5ecret"

  /// A file of the origin's pattern.
  static let mebibyte = Result {
    let file = Surroundings.folder + "/mebibyte"
    let write = "import origin, sys; sys.stdout.buffer.write(b''.join(origin.pattern_pieces(1 << 20)))"
    let made = try Peer.sh(#"cd "$PEERS/.." && "$PYTHON" -c "$1" > "$2""#, [write, file])
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    return file
  }

  static func works(_ command: String, over way: Way = .clear, line: String) throws {
    try works(command, withPassword: command, over: way, line: line)
  }

  /// GET with the entry's credential, POST of 1 MiB, a refusal where the client is not told of the CA; and a password with CONNECT.
  /// - Parameters:
  ///   - command: its `$1` is the URL, `$2` a file to post.
  ///   - withPassword: nil: this client has no place for a password.
  static func works(_ command: String, withPassword: String?, over way: Way = .clear, line: String) throws {
    let readme = try String(contentsOfFile: Surroundings.root + "/README.md", encoding: .utf8)
    #expect(readme.contains(line), "\(line)")
    try withProxy(try configuration(over: way)) { proxy throws in
      try gets(proxy, command)
      try posts(proxy, command)
      try refuses(proxy, command)
    }
    guard let withPassword else { return }
    let clients = "clients: [{name: app, password: \(password)}]"
    try withProxy(try configuration(over: way, top: clients)) { proxy throws in
      try gets(proxy, withPassword, password: "app:\(password)")
      let without = try proxy.told(command, "https://api.test/echo")
      #expect(without.status != .exited(0) && !without.output.contains(Configuration.token), "\(without)")
    }
  }

  private static func gets(_ proxy: ProxyProcess, _ command: String, password: String? = nil) throws {
    let url = "https://api.test/echo?authorization=\(Configuration.wanted)"
    let got = try proxy.told(command, url, password: password)
    #expect(got.status == .exited(0), "\(got.errors)")
    let received = try JSONDecoder().decode(Received.self, from: Data(got.output.utf8))
    #expect(received.method == "GET" && received.all("Authorization") == ["Bearer \(Configuration.token)"])
    #expect(received["Host"]?.hasPrefix("localhost:") == true && received.tls?.sni == "localhost")
    #expect(received["Proxy-Authorization"] == nil)
  }

  private static func posts(_ proxy: ProxyProcess, _ command: String) throws {
    let file = try mebibyte.get()
    let posted = try proxy.told(command, "https://api.test/echo", file)
    #expect(posted.status == .exited(0), "\(posted.errors)")
    let received = try JSONDecoder().decode(Received.self, from: Data(posted.output.utf8))
    #expect(received.method == "POST" && received.body_length == 1 << 20 && received.matches_pattern)
    #expect(received["Authorization"] == "Bearer \(Configuration.token)")
  }

  private static func refuses(_ proxy: ProxyProcess, _ command: String) throws {
    let name = Origin.newName()
    let refused = try proxy.told(command, "https://api.test/echo?id=\(name)", trusting: false)
    #expect(refused.status != .exited(0))
    #expect(refused.errors.lowercased().contains("certificat"), "\(refused.errors)")
    #expect(try Origin.shared().exchanges(name).isEmpty)
  }
}
