import Foundation
import Testing

/// A realm with a KDC of its own on loopback: see realm.py.
final class KerberosRealm: Sendable {
  static let python = "/usr/bin/python3"
  private static let script = Surroundings.support + "/kerberos/realm.py"

  let folder: String
  let kdcPort: Int
  private let child: ChildProcess

  init() throws {
    folder = try Surroundings.newFolder() + "/realm"
    child = try ChildProcess(Self.python, [Self.script, folder, "serve"])
    guard let port = child.awaitLine(seconds: 30, where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("realm.py: \(child.errors)")
    }
    kdcPort = port
    try add("HTTP/localhost")
    try add("svc", password: "pass-5ecret")
    try makeKeytab("HTTP/localhost", serviceKeytab)
    try makeKeytab("app", clientKeytab, adds: true)
  }

  /// Waits until it has ended its KDC.
  deinit {
    child.closeInput()
    _ = child.awaitEnd(seconds: 5)
  }

  /// The key of HTTP/localhost, and of the principal `app`.
  var serviceKeytab: String { folder + "/service.keytab" }
  var clientKeytab: String { folder + "/app.keytab" }
  /// For programs that use this realm.
  var environment: [String: String] { ["KRB5_CONFIG": folder + "/krb5.conf"] }

  func add(_ principal: String, password: String? = nil) throws { try run(["add", principal] + (password.map { [$0] } ?? [])) }

  /// A new key: older keytabs and tickets are void.
  func makeKeytab(_ principal: String, _ file: String, adds: Bool = false) throws {
    if adds { try add(principal) }
    try run(["keytab", principal, file])
  }

  /// A query of kadmin.local.
  func local(_ query: String) throws { try run(["local", query]) }

  /// Makes or renews a ticket cache, as a program of the operator's would.
  /// - Parameter options: more of kinit's.
  func kinit(_ cache: String, lifetime: String = "1h", _ options: String...) throws {
    let done = try ChildProcess.run(
      "kinit", ["-c", cache, "-l", lifetime] + options + ["-k", "-t", clientKeytab, "app"], environment: environment)
    guard done.status == .exited(0) else { throw HarnessError("kinit: \(done.errors)") }
  }

  /// `stop`, `continue`, `kill` or `start` the KDC.
  func kdc(_ word: String) throws {
    let before = child.lines.count
    child.send(word + "\n")
    guard child.awaitLine(from: before, where: { $0 == word }) != nil else { throw HarnessError("realm.py: \(child.errors)") }
  }

  /// Requests that the KDC has answered, by its log.
  func answered(_ kind: String) throws -> Int {
    try String(contentsOfFile: folder + "/kdc.log", encoding: .utf8).split(separator: "\n").count {
      $0.contains(kind) && $0.contains("ISSUE")
    }
  }

  private func run(_ arguments: [String]) throws {
    let done = try ChildProcess.run(Self.python, [Self.script, folder] + arguments)
    guard done.status == .exited(0) else { throw HarnessError("realm.py \(arguments[0]): \(done.errors)") }
  }
}

/// An origin that authenticates by SPNEGO: see acceptor.py.
final class KerberosAcceptor {
  struct Use: Decodable {
    let connection, length, status, token: Int
    let method, path, user, why: String
    let delegated: Bool?
    /// Base64: the proxy's token, and the answer's.
    let sent, proof: String?
  }
  struct State: Decodable {
    let uses: [Use]
    let connections: Int
  }

  let realm: KerberosRealm
  let isTLS: Bool
  let port: Int
  private let child: ChildProcess

  init(_ realm: KerberosRealm, certificate: String? = nil, folder: String? = nil) throws {
    self.realm = realm
    isTLS = certificate != nil
    let pki = try folder ?? Surroundings.pki()
    let files = certificate.map { ["\(pki)/\($0).pem", "\(pki)/\($0).key"] } ?? []
    child = try ChildProcess(
      KerberosRealm.python, [Surroundings.support + "/kerberos/acceptor.py", realm.serviceKeytab] + files,
      environment: realm.environment)
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("acceptor.py: \(child.errors)")
    }
    self.port = port
  }

  deinit { child.closeInput() }

  var base: String { "\(isTLS ? "https" : "http")://localhost:\(port)" }

  /// - Parameter settings: JSON; the keys are acceptor.py's.
  @discardableResult
  func set(_ settings: String) throws -> State { try ask("set", settings) }
  func state() throws -> State { try ask("state", "{}") }

  private func ask(_ path: String, _ body: String) throws -> State {
    let got = try ChildProcess.run("curl", ["-sSk", "--noproxy", "*", "-d", body, "\(base)/-/\(path)"])
    guard let state = try? JSONDecoder().decode(State.self, from: Data(got.output.utf8)) else {
      throw HarnessError("acceptor.py: \(got.output)\(got.errors)")
    }
    return state
  }

  /// - Parameters:
  ///   - negotiate: keys of `negotiate`, by default the realm's keytab.
  ///   - entry: more keys of the entry, each behind a comma.
  ///   - top: more lines.
  func configuration(_ negotiate: String? = nil, entry: String = "", more: String = "", top: String = "") -> String {
    """
    admin: 127.0.0.1:0
    upstreams:
      - {match: api.test, origin: "\(base)", credential: intranet\(entry)}
    \(more)
    credentials:
      intranet:
        allow_plaintext: true
        negotiate: {\(negotiate ?? "keytab: \(realm.clientKeytab)")}
    \(top)

    """
  }
}

extension Trait where Self == ConditionTrait {
  /// A KDC and MIT's GSSAPI for Python.
  static var needsKerberos: Self {
    .needs(
      "krb5-kdc, python3-gssapi",
      "PATH=$PATH:/usr/sbin; command -v krb5kdc && command -v kinit && /usr/bin/python3 -c 'import gssapi'")
  }
}
