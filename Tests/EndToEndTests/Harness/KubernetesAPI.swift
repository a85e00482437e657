import Foundation

/// An API server with the Secret `tokens` in the namespace `apps`. See kubernetes_api.py.
final class KubernetesAPI: Sendable {
  struct State: Decodable {
    struct Asked: Decodable {
      let verb: String
      let fields: [String: String]
      let body: String?
    }
    let counts: [String: Int]
    let data: [String: [String: String]]
    let watches: Int
    let requests: [Asked]

    /// Records by their key.
    var records: [String: String] { data["tokens"] ?? [:] }
    func count(_ kind: String) -> Int { counts[kind] ?? 0 }
  }
  private struct Ready: Decodable { let port: Int }

  static let token = "t0ken-of-the-pod"

  let folder: String
  let port: Int
  private let child: ChildProcess
  private let asking = NSLock()

  init() throws {
    folder = try Surroundings.newFolder()
    try ProxyProcess.write(Self.token, to: folder + "/token")
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/kubernetes_api.py", folder + "/token"])
    guard let line = child.awaitLine(where: { _ in true }) else { throw HarnessError("kubernetes_api.py: \(child.errors)") }
    port = try JSONDecoder().decode(Ready.self, from: Data(line.utf8)).port
    try act(#"{"do": "put", "name": "tokens", "data": {}}"#)
  }

  deinit { child.closeInput() }

  /// - Parameter command: JSON; see kubernetes_api.py.
  @discardableResult
  func act(_ command: String) throws -> State {
    asking.lock()
    defer { asking.unlock() }
    let before = child.lines.count
    child.send(command + "\n")
    guard let line = child.awaitLine(from: before, where: { _ in true }) else {
      throw HarnessError("kubernetes_api.py: \(child.errors)")
    }
    return try JSONDecoder().decode(State.self, from: Data(line.utf8))
  }

  var state: State { get throws { try act(#"{"do": "state"}"#) } }

  /// `token_store` of a configuration.
  var section: String {
    """
    token_store:
      kubernetes: {secret: tokens, namespace: apps, address: "http://127.0.0.1:\(port)", token: {file: \(folder)/token}}
      key: \(Data(repeating: 7, count: 32).base64EncodedString())
    """
  }
}
