import Foundation

/// A certificate authority with valid and invalid certificates. It answers about their revocation as the test says: see
/// authority.py.
final class TrustWorld: Sendable {
  private let process: ChildProcess
  let folder: String
  let port: Int

  private struct Started: Decodable { let port: Int }

  /// Its responder answers for the origin's CA, too.
  init() throws {
    folder = try Surroundings.newFolder()
    let pki = try Surroundings.pki()
    process = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/authority.py", folder, pki + "/ca.pem", pki + "/ca.key"])
    guard let line = process.awaitLine(seconds: 30, where: { _ in true }) else {
      throw HarnessError("the authority did not start: \(process.errors)")
    }
    port = try JSONDecoder().decode(Started.self, from: Data(line.utf8)).port
  }

  private static let started = Result { try TrustWorld() }
  /// One for all tests that set no modes and count nothing.
  static func shared() throws -> TrustWorld { try started.get() }

  var url: String { "http://127.0.0.1:\(port)" }
  func file(_ name: String) -> String { folder + "/" + name }

  @discardableResult
  private func ask(_ path: String) throws -> String {
    let connection = try RawConnection(port: port)
    try connection.send("GET \(path) HTTP/1.1\r\nHost: authority\r\nConnection: close\r\n\r\n")
    let answer = try connection.readAnswer()
    guard answer.status == 200 else { throw HarnessError("authority \(path): \(answer.head)") }
    return answer.text
  }

  /// Sets the answer about a certificate whose pointer leads here.
  func set(_ name: String, _ mode: String, delay: Double = 0) throws {
    try ask("/set?name=\(name)&mode=\(mode)&delay=\(delay)")
  }
  /// Number of requests for a name, or for a mode that a configuration points to.
  func count(_ name: String) throws -> Int { Int(try ask("/count?name=\(name)")) ?? -1 }
  /// - Parameter ocsp: the certificate's pointer, percent-encoded; {port} in it is the authority's; nil: none.
  func issue(_ name: String, seconds: Int, ocsp: String? = nil) throws {
    try ask("/issue?name=\(name)&seconds=\(seconds)" + (ocsp.map { "&ocsp=\($0)" } ?? ""))
  }

  /// Of the first certificate in a file, from OpenSSL's own commands.
  func pin(_ name: String) throws -> String {
    let command =
      "openssl x509 -in '\(file(name)).pem' -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64"
    let made = try ChildProcess.run("sh", ["-c", command])
    guard made.status == .exited(0), made.output.count > 40 else { throw HarnessError("no pin of \(name): \(made.errors)") }
    return "sha256/" + made.output.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The first evaluator of a policy whose only anchor is this world's root.
  var root: String { "- default: {ca_file: \(file("root.pem")), system_roots: false}" }
}

/// `openssl s_server`, with a certificate of the authority.
final class TLSServer: Sendable {
  private let process: ChildProcess
  let port: Int

  /// - Parameters:
  ///   - answers: with a status page, one per connection; else its output has everything that it receives.
  ///   - options: more options of s_server.
  init(_ world: TrustWorld, _ certificate: String, answers: Bool = true, options: [String] = []) throws {
    var words = [
      "s_server", "-accept", "0", "-cert", world.file("\(certificate).pem"), "-key", world.file("\(certificate).key"),
    ]
    let rest = world.file("\(certificate).rest.pem")
    if FileManager.default.fileExists(atPath: rest) { words += ["-cert_chain", rest] }
    if answers { words.append("-www") }
    process = try ChildProcess("openssl", words + options)
    guard let line = process.awaitLine(where: { $0.hasPrefix("ACCEPT") }),
      let port = Int(line.split(separator: ":").last ?? "")
    else { throw HarnessError("s_server with \(certificate) did not start: \(process.output)\(process.errors)") }
    self.port = port
  }

  /// Whether it has read the first bytes of a request.
  var sawRequest: Bool { process.output.contains("HTTP/1.1") }
  var output: String { process.output }
}

/// `openssl ocsp`, with the authority's database: good and ocsp are good, ocsp-too is revoked, all others are unknown.
final class OpenSSLResponder: Sendable {
  private let process: ChildProcess
  let port: Int
  var url: String { "http://127.0.0.1:\(port)/" }

  init(_ world: TrustWorld) throws {
    process = try ChildProcess(
      "openssl",
      [
        "ocsp", "-port", "0", "-index", world.file("index.txt"), "-CA", world.file("intermediate.pem"), "-rsigner",
        world.file("intermediate.pem"), "-rkey", world.file("intermediate.key"), "-ndays", "1", "-resp_no_certs",
      ])
    guard let line = process.awaitLine(where: { $0.hasPrefix("ACCEPT") }),
      let port = Int(line.split(separator: " ").dropFirst().first?.split(separator: ":").last ?? "")
    else { throw HarnessError("the responder did not start: \(process.output)\(process.errors)") }
    self.port = port
  }
}

/// A server with a certificate of the authority that keeps its connections open.
final class KeepAliveServer: Sendable {
  private let process: ChildProcess
  let port: Int

  init(_ world: TrustWorld, _ certificate: String) throws {
    process = try ChildProcess(
      Surroundings.python,
      [Surroundings.support + "/keepalive.py", world.file("\(certificate).pem"), world.file("\(certificate).key")])
    guard let line = process.awaitLine(where: { _ in true }), let port = Int(line) else {
      throw HarnessError("the server did not start: \(process.errors)")
    }
    self.port = port
  }

  /// Successful handshakes, and requests.
  var connections: Int { process.lines.filter { $0 == "connection" }.count }
  var requests: Int { process.lines.filter { $0 == "request" }.count }
}
