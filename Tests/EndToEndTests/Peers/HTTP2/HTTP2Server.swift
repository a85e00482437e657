import Foundation

/// An origin by other hands that speaks HTTP/2. It answers GET /small with `small`, and takes a POST of any size at /small.
final class HTTP2Server {
  enum Kind: String, CaseIterable {
    case nghttpd, nginx, apache2, haproxy, hypercorn

    /// Whether the answer to a POST is its body.
    var echoes: Bool { self == .nghttpd || self == .hypercorn }

    var isThere: Bool {
      switch self {
      case .nghttpd, .nginx, .haproxy: Peer.isThere(rawValue)
      case .apache2: FileManager.default.fileExists(atPath: "/usr/lib/apache2/modules/mod_http2.so")
      case .hypercorn:
        (try? ChildProcess.run(LoginPeer.python, ["-c", "import hypercorn"]))?.status == .exited(0)
      }
    }
  }

  let folder: String
  private let documents: String
  let process: ChildProcess
  private let reserved: ReservedPort
  var port: Int { reserved.port }

  init(_ kind: Kind) throws {
    reserved = try ReservedPort()
    folder = try Surroundings.newFolder()
    documents = try Self.publicFolder()
    try ProxyProcess.write("small", to: documents + "/small")
    chmod(documents + "/small", 0o644)
    process = try Self.start(kind, reserved.port, folder, documents)
    let port = reserved.port
    guard try eventually({ (try? RawConnection(port: port)) != nil }) else {
      throw HarnessError("\(kind): \(process.output)\(process.errors)")
    }
  }

  deinit {
    process.signal(SIGTERM)
    try? FileManager.default.removeItem(atPath: documents)
  }

  /// Outside of the tests' folder, as Apache's workers run as a user that cannot reach that one.
  private static func publicFolder() throws -> String {
    var template = Array((NSTemporaryDirectory() + "/authproxy-documents-XXXXXX").utf8CString)
    guard let path = mkdtemp(&template).map({ String(cString: $0) }), chmod(path, 0o755) == 0 else {
      throw HarnessError("mkdtemp: \(String(cString: strerror(errno)))")
    }
    return path
  }

  /// nginx: new workers take over, and the old ones end after what they have begun.
  func restartGracefully() { process.signal(SIGHUP) }

  /// What nginx answered: protocol, path and status of each request.
  func logged() throws -> [String] {
    try String(contentsOfFile: folder + "/access.log", encoding: .utf8).split(separator: "\n").map(String.init)
  }

  /// An empty file that nginx serves as /files/large.
  func largeFile() throws -> URL {
    try FileManager.default.createDirectory(atPath: folder + "/files", withIntermediateDirectories: true)
    try ProxyProcess.write("", to: folder + "/files/large")
    return URL(fileURLWithPath: folder + "/files/large")
  }

  private static func start(_ kind: Kind, _ port: Int, _ folder: String, _ documents: String) throws -> ChildProcess {
    let pki = try Surroundings.pki()
    let (certificate, key) = (pki + "/good.pem", pki + "/good.key")
    func configured(_ text: String) throws -> String {
      try ProxyProcess.write(text, to: folder + "/conf")
      return folder + "/conf"
    }
    switch kind {
    case .nghttpd:
      return try ChildProcess(
        "nghttpd",
        [
          "--address=127.0.0.1", "--htdocs=\(documents)", "--echo-upload", "--trailer=x-end: here", "-m", "5", "\(port)", key,
          certificate,
        ])
    case .nginx:
      let path = try configured(
        """
        daemon off; pid \(folder)/pid; error_log stderr notice; user root; worker_processes 1;
        events {}
        http {
          log_format short '$server_protocol $request_uri $status';
          access_log \(folder)/access.log short;
          client_body_temp_path \(folder)/body;
          client_max_body_size 0;
          proxy_temp_path \(folder)/proxy; fastcgi_temp_path \(folder)/fastcgi; uwsgi_temp_path \(folder)/uwsgi;
          scgi_temp_path \(folder)/scgi;
          server {
            listen 127.0.0.1:\(port) ssl http2;
            ssl_certificate \(certificate); ssl_certificate_key \(key); ssl_protocols TLSv1.2 TLSv1.3;
            keepalive_requests 20;
            location / { return 200 small; }
            location /files/ { root \(folder); }
          }
        }
        """)
      return try ChildProcess("nginx", ["-p", folder, "-c", path, "-e", "stderr"])
    case .apache2:
      let modules = ["mpm_event", "authz_core", "http2", "ssl", "unixd"].filter {
        FileManager.default.fileExists(atPath: "/usr/lib/apache2/modules/mod_\($0).so")
      }
      let path = try configured(
        modules.map { "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so\n" }.joined()
          + """
          User www-data
          Group www-data
          ServerName localhost
          Listen 127.0.0.1:\(port)
          PidFile \(folder)/pid
          ErrorLog \(folder)/errors
          DefaultRuntimeDir \(folder)
          Protocols h2 http/1.1
          SSLEngine on
          SSLCertificateFile \(certificate)
          SSLCertificateKeyFile \(key)
          DocumentRoot \(documents)
          <Directory \(documents)>
            Require all granted
          </Directory>

          """)
      return try ChildProcess("apache2", ["-f", path, "-D", "FOREGROUND"])
    case .haproxy:
      let both = try String(contentsOfFile: certificate, encoding: .utf8) + String(contentsOfFile: key, encoding: .utf8)
      try ProxyProcess.write(both, to: folder + "/both.pem")
      let path = try configured(
        """
        global
          maxconn 200
        defaults
          mode http
          timeout client 60s
          timeout connect 10s
          timeout server 60s
        frontend api
          bind 127.0.0.1:\(port) ssl crt \(folder)/both.pem alpn h2
          option http-buffer-request
          http-request return status 200 content-type text/plain string small

        """)
      return try ChildProcess("haproxy", ["-db", "-f", path])
    case .hypercorn:
      return try ChildProcess(
        LoginPeer.python,
        [
          "-m", "hypercorn", "--bind", "127.0.0.1:\(port)", "--certfile", certificate, "--keyfile", key, "echo:app",
        ], folder: Peer.programs + "/http2")
    }
  }
}
