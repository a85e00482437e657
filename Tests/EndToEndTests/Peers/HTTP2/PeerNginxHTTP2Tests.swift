import Foundation
import Testing

/// nginx, which ends each HTTP/2 connection after some requests, and says so by GOAWAY.
@Suite struct PeerNginxHTTP2Tests {
  private static let (clients, each) = (8, 38)

  private static func nginx(_ folder: String, _ port: UInt16) throws -> ChildProcess {
    let pki = try Surroundings.pki() + "/good"
    let configuration = """
      daemon off;
      pid \(folder)/pid;
      error_log stderr notice;
      user root;
      worker_processes 2;
      events {}
      http {
        log_format short '$server_protocol $request_uri $status';
        access_log \(folder)/access.log short;
        client_body_temp_path \(folder)/body;
        proxy_temp_path \(folder)/proxy;
        fastcgi_temp_path \(folder)/fastcgi;
        uwsgi_temp_path \(folder)/uwsgi;
        scgi_temp_path \(folder)/scgi;
        keepalive_requests 20;
        server {
          listen 127.0.0.1:\(port) ssl http2;
          ssl_certificate \(pki).pem;
          ssl_certificate_key \(pki).key;
          ssl_protocols TLSv1.2 TLSv1.3;
          location / { return 200 "ok"; }
        }
      }
      """
    try ProxyProcess.write(configuration, to: folder + "/nginx.conf")
    let nginx = try ChildProcess("sh", ["-c", "exec nginx -p \(folder) -c \(folder)/nginx.conf -e stderr 2>&1"])
    guard nginx.awaitLine(where: { $0.contains("start worker process ") }) != nil else {
      throw HarnessError("nginx: \(nginx.output)")
    }
    return nginx
  }

  private static func post(_ client: Int, through proxy: ProxyProcess, _ sent: Monitor<Int>, _ faults: Monitor<[String]>) {
    do {
      let connection = try proxy.connect()
      connection.timeout = 60
      for number in 0..<each {
        try connection.send(ProxyProcess.request("POST", "http://api.test/\(client)-\(number)", body: "\(number)"))
        let answer = try connection.readAnswer()
        if answer.status != 200 || answer.text != "ok" { faults.change { $0.append("\(client)-\(number): \(answer.head)") } }
        sent.change { $0 += 1 }
      }
    } catch { faults.change { $0.append("\(client): \(error)") } }
  }

  @Test(.needs("nginx"))
  func `three hundred POSTs lose none and send none twice, though nginx restarts, and the trust is replaced`() throws {
    let folder = try Surroundings.newFolder()
    let port = UInt16(try TestListener().port)
    let nginx = try Self.nginx(folder, port)
    defer { nginx.signal(SIGTERM) }
    let ca = "\(try Surroundings.pki())/ca.pem"
    func configuration(_ more: String) -> String {
      """
      threads: 2
      log: {access: false}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(port)", http_version: 2}
      trust:
        default:
          - default: {ca_file: \(ca), system_roots: false\(more)}
      """
    }
    try withProxy(configuration("")) { proxy throws in
      let (sent, faults, left) = (Monitor(0), Monitor<[String]>([]), Monitor(Self.clients))
      for client in 0..<Self.clients {
        Thread {
          Self.post(client, through: proxy, sent, faults)
          left.change { $0 -= 1 }
        }.start()
      }
      #expect(sent.wait(60) { $0 > 60 ? true : nil } == true)
      nginx.signal(SIGHUP)
      #expect(sent.wait(60) { $0 > 140 ? true : nil } == true)
      try proxy.reload(configuration(", min_version: tls1.3"))
      #expect(left.wait(120) { $0 == 0 ? true : nil } == true)
      let found = faults.change { $0 }
      #expect(found.isEmpty, "\(found.count): \(found.prefix(5))")
      let lines = try String(contentsOfFile: folder + "/access.log", encoding: .utf8).split(separator: "\n")
      let expected = (0..<Self.clients).flatMap { client in (0..<Self.each).map { "HTTP/2.0 /\(client)-\($0) 200" } }
      #expect(lines.map(String.init).sorted() == expected.sorted())
    }
    #expect(nginx.ending == nil, "\(nginx.output)")
  }
}
