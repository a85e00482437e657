import Foundation
import Testing

/// A parent proxy by other hands, with a configuration of the test's own. It reaches origins from `source`, which nothing else does,
/// so origins can tell what went around it.
final class RealParent {
  enum Kind: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case squid
    case squidOverTLS = "squid over TLS"
    case tinyproxy
    case microsocks
    /// With passwords of a system of its own.
    case dante
    /// Without a password.
    case openDante = "dante without a password"

    var testDescription: String { rawValue }
    var isSOCKS: Bool { self == .microsocks || self == .dante || self == .openDante }

    var command: String {
      switch self {
      case .squid, .squidOverTLS: "squid"
      case .tinyproxy: "tinyproxy"
      case .microsocks: "microsocks"
      case .dante, .openDante: "danted"
      }
    }

    /// Each has files of the system for itself alone.
    var canRun: Bool {
      guard (try? ChildProcess.run("sh", ["-c", "command -v \(command)"]))?.status == .exited(0) else { return false }
      return (try? ChildProcess.run("unshare", ["-m", "mount", "--bind", "/etc/hosts", "/etc/hosts"]))?.status == .exited(0)
    }
  }

  /// Parents that this machine has.
  static let present = Kind.allCases.filter(\.canRun)
  /// Where connections to origins come from.
  static let source = "127.0.0.9"
  static let (user, password) = ("proxyuser", "pw-5ecret-parent")
  /// The origin's machine, as only the parents know it.
  static let host = "token.example.test"

  let kind: Kind
  let port: Int
  private let folder: String
  private let process: ChildProcess

  /// - Parameter port: nil: a free one.
  init(_ kind: Kind, port: Int? = nil) throws {
    self.kind = kind
    // It is free again by the time that the parent binds it.
    self.port = try port ?? TestListener().port
    folder = try Surroundings.newFolder()
    // The parents give up root's rights.
    chmod(folder, 0o777)
    chmod(Surroundings.folder, 0o755)
    let words = try Self.withFiles(of: kind, in: folder, Self.prepare(kind, self.port, folder))
    process = try ChildProcess(words[0], Array(words.dropFirst()))
    let isReady = try eventually(seconds: 20) { (try? RawConnection(port: self.port)) != nil }
    if !isReady { throw HarnessError("\(kind.rawValue): \(process.output)\(process.errors)\n\(log())") }
  }

  deinit { stop() }

  func stop() {
    process.signal(kind == .microsocks ? SIGKILL : SIGTERM)
    if process.awaitEnd(seconds: 10) == nil { process.signal(SIGKILL) }
  }

  func kill() {
    process.signal(SIGKILL)
    _ = process.awaitEnd(seconds: 10)
  }

  /// The value of `url` in `parents`.
  var url: String {
    switch kind {
    case .squid, .tinyproxy: "http://127.0.0.1:\(port)"
    case .squidOverTLS: "https://localhost:\(port)"
    case .microsocks, .dante, .openDante: "socks5h://127.0.0.1:\(port)"
    }
  }

  /// Its own log of requests. squid writes a line when a tunnel ends.
  func log() -> String {
    let file = (try? String(contentsOfFile: folder + "/log", encoding: .utf8)) ?? ""
    return kind == .microsocks ? process.errors : file
  }

  private static func prepare(_ kind: Kind, _ port: Int, _ folder: String) throws -> [String] {
    let path = folder + "/conf"
    func write(_ lines: String..., to path: String = path) throws {
      try ProxyProcess.write(lines.joined(separator: "\n") + "\n", to: path)
      chmod(path, 0o644)
    }
    switch kind {
    case .squid, .squidOverTLS:
      let hash = try ChildProcess.run("openssl", ["passwd", "-apr1", password]).output
      try write("\(user):\(hash)", to: folder + "/passwords")
      let pki = try Surroundings.pki()
      try write(
        kind == .squid
          ? "http_port 127.0.0.1:\(port)"
          : "https_port 127.0.0.1:\(port) tls-cert=\(pki)/good.pem tls-key=\(pki)/good.key",
        "auth_param basic program /usr/lib/squid/basic_ncsa_auth \(folder)/passwords", "acl known proxy_auth REQUIRED",
        "http_access deny !known", "http_access allow all", "access_log stdio:\(folder)/log", "cache_log \(folder)/cache.log",
        "pid_filename none", "cache deny all", "cache_mem 8 MB", "coredump_dir none", "shutdown_lifetime 0 seconds",
        "netdb_filename none", "pinger_enable off", "tcp_outgoing_address \(source)")
      return ["squid", "-N", "-f", path]
    case .tinyproxy:
      try write(
        "Port \(port)", "Listen 127.0.0.1", "Bind \(source)", "BasicAuth \(user) \(password)", "MaxClients 400", "Timeout 60",
        "LogLevel Connect", "LogFile \"\(folder)/log\"")
      return ["tinyproxy", "-d", "-c", path]
    case .microsocks:
      return ["microsocks", "-i", "127.0.0.1", "-p", "\(port)", "-u", user, "-P", password, "-b", source]
    case .dante, .openDante:
      try write(
        "logoutput: \(folder)/log", "internal: 127.0.0.1 port = \(port)", "external: \(source)",
        "socksmethod: \(kind == .dante ? "username" : "none")", "clientmethod: none", "user.privileged: root",
        "user.unprivileged: nobody", "client pass {\n from: 127.0.0.0/8 to: 0.0.0.0/0\n log: connect error\n}",
        "socks pass {\n from: 127.0.0.0/8 to: 0.0.0.0/0\n command: connect\n log: connect error\n}")
      return ["danted", "-f", path]
    }
  }

  /// The command with a name that only it resolves; Dante also asks the system for passwords.
  private static func withFiles(of kind: Kind, in folder: String, _ command: [String]) throws -> [String] {
    var files = ["hosts": "127.0.0.1 localhost \(host)\n"]
    if kind == .dante {
      let hash = try ChildProcess.run("openssl", ["passwd", "-6", password]).output.trimmingCharacters(in: .newlines)
      let users = try String(contentsOfFile: "/etc/passwd", encoding: .utf8)
      files["passwd"] = users + "\(user):x:4242:65534::/nonexistent:/usr/sbin/nologin\n"
      files["shadow"] = "\(user):\(hash):20000:0:99999:7:::\n"
    }
    for (name, text) in files {
      try ProxyProcess.write(text, to: "\(folder)/\(name)")
      chmod("\(folder)/\(name)", 0o644)
    }
    let mounts = files.keys.map { "mount --bind \(folder)/\($0) /etc/\($0) && " }.joined()
    return ["unshare", "-m", "sh", "-c", mounts + "exec \"$@\"", "sh"] + command
  }
}
