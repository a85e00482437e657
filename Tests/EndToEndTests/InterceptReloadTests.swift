import Foundation
import Testing

/// What a reload means for intercepted connections that are open.
@Suite struct InterceptReloadTests {
  private static let clients = """
    clients:
      - {name: app, password: app-5ecret}
      - {name: other, password: other-5ecret}
    """

  /// Sends a request, waits until the test has written a file, and sends another one.
  private func twice(_ proxy: ProxyProcess, root: String, between: () throws -> Void) throws -> [Int] {
    let mark = proxy.folder + "/" + UUID().uuidString
    let script = """
      import base64, os, socket, ssl, sys, time
      wire = socket.create_connection(("127.0.0.1", \(proxy.port)), timeout=10)
      word = base64.b64encode(b"app:app-5ecret").decode()
      wire.sendall(("CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test:443\\r\\nProxy-Authorization: Basic %s\\r\\n\\r\\n" % word).encode())
      assert b" 200 " in wire.recv(4096)
      tls = ssl.create_default_context(cafile="\(root)").wrap_socket(wire, server_hostname="api.test")
      for turn in range(2):
          tls.sendall(b"GET /echo HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
          print(tls.recv(65536).decode("latin-1").split()[1], flush=True)
          end = time.time() + 10
          while turn == 0 and not os.path.exists("\(mark)") and time.time() < end:
              time.sleep(0.02)
      """
    let child = try ChildProcess(Surroundings.python, ["-c", script])
    #expect(child.awaitLine(seconds: 10) { !$0.isEmpty } != nil, "\(child.errors)")
    try between()
    try "".write(toFile: mark, atomically: true, encoding: .utf8)
    #expect(child.awaitEnd(seconds: 15) == .exited(0), "\(child.errors)")
    return child.lines.compactMap { Int($0) }
  }

  @Test func `a client that lost its rights gets 403 inside, never 407`() throws {
    let configuration = try Intercepted.configuration(top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let withoutPassword = configuration.replacingOccurrences(of: "app-5ecret", with: "new-5ecret")
      let answers = try twice(proxy, root: proxy.root) { try proxy.reload(withoutPassword) }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
    try withProxy(configuration) { proxy throws in
      let denied = configuration.replacingOccurrences(of: "password: app-5ecret", with: "password: app-5ecret, allow: []")
      let answers = try twice(proxy, root: proxy.root) { try proxy.reload(denied) }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
  }

  @Test func `where the match is gone nothing is served inside, also not as an unlisted host`() throws {
    let configuration = try Intercepted.configuration(top: Self.clients)
    try withProxy(configuration) { proxy throws in
      let answers = try twice(proxy, root: proxy.root) {
        try proxy.reload(
          configuration.replacingOccurrences(of: "https://api.test", with: "https://other.test")
            .replacingOccurrences(of: "clients:", with: "unlisted_hosts: forward\nclients:"))
      }
      #expect(answers.count == 2 && answers[1] == 403, "\(answers)")
    }
  }

  @Test func `another CA signs new handshakes, while open connections go on`() throws {
    let folder = try Surroundings.newFolder()
    func configuration(_ name: String) throws -> String {
      try Intercepted.configuration(top: "intercept: {ca: {generate: \(folder)/\(name)}}\n" + Self.clients)
    }
    try withProxy(try configuration("one")) { proxy throws in
      let roots = ["one", "two"].map { "\(folder)/\($0)/ca.pem" }
      let answers = try twice(proxy, root: roots[0]) { try proxy.reload(try configuration("two")) }
      #expect(answers.count == 2 && answers[0] == answers[1] && answers[1] < 300, "\(answers)")
      let request = ProxyProcess.last("GET", "/echo")
      #expect(try proxy.inside(request, root: roots[1], "--password", "app:app-5ecret").statuses == [200])
      #expect(try proxy.inside(request, root: roots[0], "--password", "app:app-5ecret").received.isEmpty)
    }
  }
}
