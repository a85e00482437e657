import Foundation
import Testing

/// Processes that share a token store, and the token server whose tokens they share.
final class Fleet {
  static let key = Data((0..<32).map { $0 }).base64EncodedString()
  static let otherKey = Data((0..<32).reversed().map { $0 }).base64EncodedString()

  let redis: RedisServer
  let server: TokenServer
  private(set) var proxies: [ProxyProcess] = []
  private(set) var relays: [Relay] = []
  /// Those that have not been killed.
  var living: [ProxyProcess] { proxies.filter { $0.process.ending == nil } }

  init(_ settings: String = "{}", redis lines: [String] = []) throws {
    redis = try RedisServer(lines)
    server = try TokenServer(settings, origin: Origin())
  }

  deinit { for proxy in proxies where proxy.process.ending == nil { proxy.process.signal(SIGKILL) } }

  /// - Parameters:
  ///   - oauth: lines of the credential; the grant is client_credentials unless they name another.
  ///   - store: more of `token_store.redis`.
  ///   - redis: all of it.
  ///   - keys: of `token_store`, beside the store.
  func configuration(
    _ oauth: [String] = [], name: String = "proxy", address: String? = nil, store: String = "", redis all: String? = nil,
    keys: String? = nil, top: String = ""
  ) throws -> String {
    let redis = all ?? "{address: \"\(address ?? redis.address)\", timeout: 1s\(store.isEmpty ? "" : ", " + store)}"
    let lines = oauth.contains { $0.hasPrefix("timeout:") } ? oauth : oauth + ["timeout: 10s"]
    return try server.configuration(lines: lines)
      + """
      name: \(name)
      admin: 127.0.0.1:0
      threads: 2
      timeouts: {credential: 60s}
      token_store:
        redis: \(redis)
        \(keys ?? "key: \(Self.key)")
      \(top)

      """
  }

  @discardableResult
  func start(_ configuration: String, folder: String? = nil, environment: [String: String] = [:]) throws -> ProxyProcess {
    let proxy = try ProxyProcess(configuration, environment: environment, folder: folder)
    proxies.append(proxy)
    return proxy
  }

  /// Starts so many, which are connected to the store.
  /// - Parameter redis: of all of them, if they do not use `redis` directly.
  func start(_ count: Int, _ oauth: [String] = [], redis: String? = nil) throws {
    for number in 1...count { try start(try configuration(oauth, name: "proxy\(number)", redis: redis)) }
    try awaitStore()
  }

  /// The same, each with a relay between it and the store.
  /// - Parameter timeout: of commands.
  func startRelayed(_ count: Int, _ oauth: [String] = [], timeout: String = "1s", keep: Bool = false, store: String = "") throws
  {
    for number in 1...count {
      let relay = try Relay(to: redis.port, keep: keep)
      relays.append(relay)
      let settings = "{address: \"redis://127.0.0.1:\(relay.port)\", timeout: \(timeout)\(store)}"
      try start(try configuration(oauth, name: "proxy\(number)", redis: settings))
    }
    try awaitStore()
  }

  private func awaitStore() throws {
    for proxy in proxies {
      try #require(proxy.process.awaitLine { $0.contains("token store reachable") } != nil, "\(proxy.tail)")
    }
  }

  /// Asks all of them at once.
  func askAll(_ path: String = "x") throws -> [Answer] {
    try living.map { try begin($0, path) }.map { try $0.readAnswer() }
  }

  /// Sends a request, whose answer may take longer than a claim.
  func begin(_ proxy: ProxyProcess, _ path: String = "x") throws -> RawConnection {
    let connection = try proxy.connect()
    connection.timeout = 60
    try connection.send(ProxyProcess.request("GET", server.url(path)))
    return connection
  }

  func ask(_ proxy: ProxyProcess, _ path: String = "x") throws -> Int { try begin(proxy, path).readAnswer().status }

  /// Waits until the token server has so many requests.
  func awaitRequests(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try #require(try eventually { try server.state().requests.count == count }, sourceLocation: sourceLocation)
  }

  func kill(_ index: Int) {
    proxies[index].process.signal(SIGKILL)
    _ = proxies[index].process.awaitEnd(seconds: 10)
  }

  /// For a failed expectation: what the token server was asked, and what each process has logged about its tokens and its store.
  var story: String {
    let asked = (try? server.state().requests) ?? []
    var lines = asked.map { "\($0.at) \($0.form.filter { $0.key == "refresh_token" || $0.key == "grant_type" })" }
    for (index, proxy) in proxies.enumerated() {
      let told = proxy.process.lines.filter { line in ["credential", "token", "record"].contains { line.contains($0) } }
      lines += ["process \(index):"] + told.suffix(20)
    }
    return lines.joined(separator: "\n")
  }

  /// How many of all processes, also dead ones, have logged this.
  func logged(_ text: String) -> Int { proxies.filter { $0.process.lines.contains { $0.contains(text) } }.count }

  /// Of each process, for the first credential.
  func metric(_ name: String, _ labels: String = #"{credential="api"}"#) throws -> [Double] {
    try living.map { try $0.metric("authproxy_\(name)\(labels)") ?? 0 }
  }

  func stop(sourceLocation: SourceLocation = #_sourceLocation) {
    for proxy in living { proxy.stop(sourceLocation: sourceLocation) }
  }
}
