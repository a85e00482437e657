import Foundation
import Testing

/// The main job: a tool without tokens and TLS requests http://, and the origin accepts the request.
@Suite struct ToolsThroughTheProxyTests {
  let url = "http://api.test/echo?authorization=\(Configuration.wanted)"

  private func throughTheProxy(_ command: (_ url: String) -> [String]) throws {
    try withProxy(try Configuration.https()) { proxy in
      let environment = ["http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": "", "NO_PROXY": ""]
      let words = command(url)
      let done = try ChildProcess.run(words[0], Array(words.dropFirst()), environment: environment)
      #expect(done.status == .exited(0), "\(done.errors)")
      let received = try JSONDecoder().decode(Received.self, from: Data(done.output.utf8))
      #expect(received["Authorization"] == "Bearer \(Configuration.token)")
      #expect(received.target == "/echo?authorization=\(Configuration.wanted)")
      #expect(received.tls?.sni == "localhost")
    }
  }

  @Test func `curl reaches an API that wants a token`() throws {
    try throughTheProxy { ["curl", "-sSf", $0] }
  }

  @Test func `wget reaches an API that wants a token`() throws {
    try throughTheProxy { ["wget", "-nv", "-O", "-", $0] }
  }

  @Test func `Python requests reaches an API that wants a token`() throws {
    try throughTheProxy {
      [
        Surroundings.python, "-c", "import requests, sys; r = requests.get(sys.argv[1]); r.raise_for_status(); print(r.text)",
        $0,
      ]
    }
  }

  @Test func `without the credential the same origin says no, and its 401 is relayed as it came`() throws {
    try withProxy(try Configuration.https("credential: wrong", top: "  wrong:\n    bearer: {token: other-5ecret}")) { proxy in
      let answer = try proxy.ask(url)
      #expect(answer.status == 401)
      #expect(answer["WWW-Authenticate"] == #"Bearer realm="origin""#)
      #expect(answer.text == "not you\n")
      #expect(answer.proxyError == nil)
    }
  }
}
