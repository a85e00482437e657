import Foundation

/// An API that verifies JWTs, HTTP message signatures and HMACs with others' code. See signing_server.py.
final class SigningServer {
  struct Use: Decodable {
    let why, path, method, kid, jwt, claims, covered: String
    let iat, exp, length: Int
    let fields: [[String]]

    func all(_ name: String) -> [String] { fields.filter { $0[0].lowercased() == name.lowercased() }.map { $0[1] } }
  }

  let port: Int
  let folder: String
  private let child: ChildProcess

  init(_ settings: [String: Any] = [:]) throws {
    folder = try Surroundings.newFolder()
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/signing_server.py"])
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("signing_server.py: \(child.errors)")
    }
    self.port = port
    try set(settings)
  }

  deinit { child.closeInput() }

  var base: String { "http://127.0.0.1:\(port)" }

  /// - Parameter settings: see signing_server.py.
  /// - Returns: the log.
  @discardableResult
  func set(_ settings: [String: Any]) throws -> [Use] {
    let path = folder + "/settings"
    try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
    let got = try ChildProcess.run("curl", ["-sS", "--noproxy", "*", "-d", "@" + path, base + "/set"])
    return try JSONDecoder().decode([Use].self, from: Data(got.output.utf8))
  }

  func uses() throws -> [Use] { try set([:]) }

  /// A credential for `api.test`, which is this server.
  func configuration(_ kind: String, entry: String = "", top: String = "") -> String {
    """
    upstreams:
      - {match: api.test, origin: "\(base)", credential: api\(entry)}
    credentials:
      api:
        allow_plaintext: true
        \(kind)
    \(top)

    """
  }

  /// Makes a key pair: the private key's file, and the public one's text.
  /// - Parameter kind: as `openssl genpkey -algorithm` takes it: `ed25519`, `EC:P-256`, `RSA:2048`.
  func keyPair(_ kind: String, name: String = "key") throws -> (file: String, publicKey: String) {
    let parts = kind.split(separator: ":").map(String.init)
    let file = folder + "/\(name).pem"
    var options: [String] = []
    if parts[0] == "EC" { options = ["-pkeyopt", "ec_paramgen_curve:\(parts[1])"] }
    if parts[0] == "RSA" { options = ["-pkeyopt", "rsa_keygen_bits:\(parts[1])"] }
    let made = try ChildProcess.run("openssl", ["genpkey", "-algorithm", parts[0], "-out", file] + options)
    guard made.status == .exited(0) else { throw HarnessError("openssl: \(made.errors)") }
    return (file, try ChildProcess.run("openssl", ["pkey", "-in", file, "-pubout"]).output)
  }
}

/// What `explain --sign` prints about a request.
func explained(_ configuration: String, _ method: String, _ url: String) throws -> String {
  let path = try Surroundings.newFolder() + "/proxy.conf"
  try ProxyProcess.write(try ProxyProcess.complete(configuration), to: path)
  let done = try ChildProcess.run(Surroundings.program, ["explain", "--sign", "--config", path, method, url])
  guard done.status == .exited(0) else { throw HarnessError("explain: \(done.errors)") }
  return done.output
}
