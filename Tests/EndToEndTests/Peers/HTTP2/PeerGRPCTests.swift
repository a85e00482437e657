import Foundation
import Testing

/// gRPC's own library on both sides, with the proxy inside of its TLS. See Tests/Support/peers/grpc.
@Suite struct PeerGRPCTests {
  private static let programs = Peer.programs + "/grpc"

  private final class Server {
    let process: ChildProcess
    let port: Int

    init() throws {
      let pki = try Surroundings.pki()
      process = try ChildProcess(LoginPeer.python, [programs + "/server.py", pki + "/good.pem", pki + "/good.key"])
      guard let port = process.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
        throw HarnessError("server.py: \(process.errors)")
      }
      self.port = port
    }

    deinit { process.closeInput() }
  }

  private func configuration(port: Int, _ credential: String = "bearer: {token: \(Configuration.token)}") -> String {
    """
    upstreams:
      - {match: "https://api.test", origin: "https://localhost:\(port)", http_version: 2, credential: api}
    credentials:
      api:
        allow_plaintext: true
        \(credential)
    intercept: {ca: {generate: ca}}

    """
  }

  private func run(_ steps: [String], through proxy: ProxyProcess) throws {
    let done = try ChildProcess.run(
      LoginPeer.python, [Self.programs + "/client.py", "\(proxy.port)", proxy.root] + steps,
      input: "Bearer \(Configuration.token)\n")
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(done.output.split(separator: "\n").map(String.init) == steps)
  }

  @Test(.needsPackage("grpc"))
  func `calls of all four kinds, metadata, deadlines, cancelled calls and sixty at once`() throws {
    let server = try Server()
    try withProxy(configuration(port: server.port)) { proxy throws in
      try run(["unary", "metadata", "credential", "down", "up", "talk", "failure", "crowd"], through: proxy)
      // The server's end learns that nobody waits any more.
      try run(["deadline", "cancel"], through: proxy)
      #expect(try eventually(seconds: 60) { server.process.lines.filter { $0 == "ended" }.count == 2 })
      let log = try #require(proxy.process.awaitLine { $0.contains("/test.Desk/Talk") })
      #expect(log.contains(#""status":200"#), "\(log)")
      #expect(!proxy.process.output.contains("5ecret") && !proxy.process.errors.contains("5ecret"))
    }
  }

  @Test(.needsPackage("grpc")) func `a call that is UNAUTHENTICATED is repeated with a fresh token`() throws {
    let (server, tokens) = (try Server(), try TokenServer(origin: try Origin.shared()))
    let credential = """
      oauth2: {grant: client_credentials, token_url: "\(tokens.tokenURL)", client_id: me, client_secret: shh-5ecret-client}
      """
    try withProxy(configuration(port: server.port, credential)) { proxy throws in
      try run(["refreshed"], through: proxy)
    }
  }

  @Test(.needsPackage("grpc")) func `a server that is gone is UNAVAILABLE`() throws {
    let closed = try TestListener(backlog: nil)
    try withProxy(configuration(port: closed.port)) { proxy throws in try run(["unavailable"], through: proxy) }
  }
}
