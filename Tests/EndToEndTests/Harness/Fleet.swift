import Foundation
import Testing

/// Processes that share a token store, and the token server whose tokens they share.
final class Fleet {
  static let key = Data((0..<32).map { $0 }).base64EncodedString()
  static let otherKey = Data((0..<32).reversed().map { $0 }).base64EncodedString()

  let redis: RedisServer
  let server: TokenServer
  private(set) var proxies: [ProxyProcess] = []

  init(_ settings: String = "{}", redis lines: [String] = []) throws {
    redis = try RedisServer(lines)
    server = try TokenServer(settings, origin: Origin())
  }

  deinit { for proxy in proxies where proxy.process.ending == nil { proxy.process.signal(SIGKILL) } }

  /// - Parameters:
  ///   - oauth: lines of the credential; the grant is client_credentials unless they name another.
  ///   - store: more of `token_store.redis`.
  ///   - keys: of `token_store`, beside the store.
  func configuration(
    _ oauth: [String] = [], name: String = "proxy", address: String? = nil, store: String = "", keys: String? = nil,
    top: String = ""
  ) throws -> String {
    let redis = "{address: \"\(address ?? redis.address)\", timeout: 1s\(store.isEmpty ? "" : ", " + store)}"
    let lines = oauth.contains { $0.hasPrefix("timeout:") } ? oauth : oauth + ["timeout: 10s"]
    return try server.configuration(lines: lines)
      + """
      name: \(name)
      admin: 127.0.0.1:0
      threads: 2
      token_store:
        redis: \(redis)
        \(keys ?? "key: \(Self.key)")
      \(top)

      """
  }

  @discardableResult
  func start(_ configuration: String, folder: String? = nil) throws -> ProxyProcess {
    let proxy = try ProxyProcess(configuration, folder: folder)
    proxies.append(proxy)
    return proxy
  }

  /// Starts so many, which are connected to the store.
  func start(_ count: Int, _ oauth: [String] = []) throws {
    for number in 1...count { try start(try configuration(oauth, name: "proxy\(number)")) }
    for proxy in proxies {
      try #require(proxy.process.awaitLine { $0.contains("token store reachable") } != nil, "\(proxy.tail)")
    }
  }

  /// Asks all of them at once.
  func askAll(_ path: String = "x") throws -> [Answer] {
    let connections = try proxies.map { try $0.connect() }
    for connection in connections { try connection.send(ProxyProcess.request("GET", server.url(path))) }
    return try connections.map { try $0.readAnswer() }
  }

  /// Of each process, for the first credential.
  func metric(_ name: String, _ labels: String = #"{credential="api"}"#) throws -> [Double] {
    try proxies.map { try $0.metric("authproxy_\(name)\(labels)") ?? 0 }
  }

  func stop(sourceLocation: SourceLocation = #_sourceLocation) {
    for proxy in proxies where proxy.process.ending == nil { proxy.stop(sourceLocation: sourceLocation) }
  }
}
