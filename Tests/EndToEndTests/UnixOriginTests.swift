import Foundation
import Testing

/// `origin: unix:/path`: HTTP over a unix socket.
@Suite struct UnixOriginTests {
  private struct Told: Decodable {
    let method, target, host, body: String
    let authorization: String?
    let connection, index: Int
  }

  /// unix_server.py.
  private final class Server {
    private let child: ChildProcess

    init(_ path: String, backlog: Int? = nil) throws {
      child = try ChildProcess(
        Surroundings.python, [Surroundings.support + "/unix_server.py", path] + (backlog.map { ["\($0)"] } ?? []))
      guard child.awaitLine(where: { $0 == "ready" }) != nil else { throw HarnessError("unix_server.py: \(child.errors)") }
    }

    deinit { child.closeInput() }

    func stop() throws {
      child.closeInput()
      guard child.awaitEnd(seconds: 10) != nil else { throw HarnessError("unix_server.py does not end") }
    }

    func accept() { child.send("\n") }
  }

  private static func configuration(_ socket: String, _ entry: String = "") -> String {
    """
    upstreams:
      - {match: docker.test, origin: "unix:\(socket)", credential: api\(entry)}
    credentials:
      api: {bearer: {token: \(Configuration.token)}}
    """
  }

  private func told(_ answer: Answer) throws -> Told {
    #expect(answer.status == 200, "\(answer.head)\(answer.text)")
    return try JSONDecoder().decode(Told.self, from: Data(answer.body))
  }

  @Test func `Host is localhost, the credential goes without allow_plaintext, and connections are kept`() throws {
    let folder = try Surroundings.newFolder()
    let server = try Server(folder + "/docker.sock")
    try withExtendedLifetime(server) {
      try withProxy(Self.configuration(folder + "/docker.sock")) { proxy throws in
        let client = try proxy.connect()
        for (index, method) in ["GET", "POST", "GET"].enumerated() {
          let body = method == "POST" ? "hello" : nil
          try client.send(ProxyProcess.request(method, "http://docker.test/v1.41/info?a", body: body))
          let told = try told(try client.readAnswer())
          #expect(told.host == "localhost" && told.target == "/v1.41/info?a" && told.method == method)
          #expect(told.authorization == "Bearer \(Configuration.token)" && told.body == body ?? "")
          #expect(told.connection == 1 && told.index == index + 1)
        }
        let line = proxy.process.awaitLine { $0.contains("/v1.41/info") }
        #expect(line?.contains("unix:\(folder)/docker.sock") == true, "\(line ?? "")")
        let redirect = try proxy.ask("http://docker.test/redirect")
        #expect(redirect["Location"] == "http://docker.test/v1.41/next")
      }
    }
  }

  @Test func `an app's host can be kept, and a prefix taken away`() throws {
    let folder = try Surroundings.newFolder()
    let server = try Server(folder + "/docker.sock")
    try withExtendedLifetime(server) {
      let rules = ", host_header: app, strip_prefix: true, match: docker.test/engine"
      let text = Self.configuration("docker.sock", rules).replacingOccurrences(of: "{match: docker.test, ", with: "{")
      // A relative path starts at the file's folder.
      try withProxy(text.replacingOccurrences(of: "unix:docker.sock", with: "unix:\(folder)/docker.sock")) { proxy throws in
        let told = try told(try proxy.ask("http://docker.test/engine/redirect"))
        #expect(told.host == "docker.test" && told.target == "/redirect")
        #expect(try proxy.ask("http://docker.test/engine/redirect")["Location"] == "http://docker.test/engine/v1.41/next")
      }
    }
  }

  @Test func `nothing listens: 502 with the reason; once something does, requests arrive; a reload moves them`() throws {
    let folder = try Surroundings.newFolder()
    try withProxy(Self.configuration(folder + "/one.sock")) { proxy throws in
      let missing = try proxy.ask("http://docker.test/")
      #expect(missing.status == 502 && missing.proxyError == "connection_refused")
      #expect(missing.text.contains("does not exist"))
      // The file stays, its server is gone.
      try Server(folder + "/one.sock").stop()
      let refused = try proxy.ask("http://docker.test/")
      #expect(refused.status == 502 && refused.proxyError == "connection_refused")
      let one = try Server(folder + "/one.sock")
      let two = try Server(folder + "/two.sock")
      try withExtendedLifetime((one, two)) {
        let client = try proxy.connect()
        func ask() throws -> Told {
          try client.send(ProxyProcess.request("GET", "http://docker.test/"))
          return try told(try client.readAnswer())
        }
        #expect(try ask().index == 1)
        #expect(try ask().index == 2)
        try proxy.reload(Self.configuration(folder + "/two.sock"))
        #expect(try ask().index == 1)
      }
    }
  }

  @Test func `neither via, bind, address_family nor forbidden_addresses apply to it`() throws {
    let folder = try Surroundings.newFolder()
    let (server, parent) = (try Server(folder + "/docker.sock"), try ParentServer())
    try withExtendedLifetime(server) {
      let keys = """

        via: corporate
        parents: {corporate: {url: "\(parent.url("http"))"}}
        bind: ["2001:db8::9"]
        address_family: ipv6
        forbidden_addresses: [default, 0.0.0.0/0, "::/0"]
        """
      try withProxy(Self.configuration(folder + "/docker.sock") + keys) { proxy throws in
        let told = try told(try proxy.ask("http://docker.test/info"))
        #expect(told.target == "/info" && told.host == "localhost")
        #expect(try parent.asked().isEmpty)
      }
    }
  }

  @Test func `a full queue is waited for, as TCP would`() throws {
    let folder = try Surroundings.newFolder()
    let server = try Server(folder + "/docker.sock", backlog: 0)
    try withProxy(Self.configuration(folder + "/docker.sock", ", timeouts: {connect: 30s}") + "\nthreads: 1\n") {
      proxy throws in
      let clients = try (0..<12).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("GET", "http://docker.test/")) }
      #expect(clients[0].staysSilent(for: 0.3))
      server.accept()
      for client in clients { #expect(try client.readAnswer().status == 200) }
    }
  }

  @Test func `check and explain name the socket`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + Self.configuration("/run/docker.sock"), to: folder + "/proxy.conf")
    let checked = try ChildProcess.run(Surroundings.program, ["check", "--config", "proxy.conf"], folder: folder)
    #expect(checked.status == .exited(0), "\(checked.errors)")
    let words = checked.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(words.contains("docker.test http://docker.test -> unix:/run/docker.sock"), "\(words)")
    let told = try ChildProcess.run(
      Surroundings.program, ["explain", "--config", "proxy.conf", "GET", "http://docker.test/x"], folder: folder)
    #expect(told.output.contains("unix:/run/docker.sock"), "\(told.output)")
    #expect(told.output.contains("none: whoever may open the socket on this machine is the server"))
  }
}
