import Foundation
import Testing

/// Each kind of request of the proxy's own goes through the parent, and the metadata services are asked directly.
@Suite struct ParentEndpointTests {
  private static func configuration(_ parent: ParentServer, _ credential: String, more: String = "") throws -> String {
    """
    via: corporate
    parents: {corporate: {url: "\(parent.url("http"))"}}
    upstreams: [{match: api.test, origin: "http://localhost:\(try Origin.shared().ports.http)", credential: api, via: direct}]
    credentials:
      api:
        allow_plaintext: true
        \(credential)
    threads: 1
    \(more)

    """
  }

  @Test(
    arguments: [
      (
        "oauth2: {grant: client_credentials, issuer: \"https://issuer.test\", client_id: id, client_secret: s-5ecret}",
        "issuer.test"
      ),
      ("github_app: {app_id: \"1\", installation_id: \"2\", private_key: {file: KEY}}", "api.github.com"),
      (
        "sigv4: {service: s3, region: eu-west-1, access_key_id: AKIAUSER, secret_access_key: k-5ecret, "
          + "assume_role: {role_arn: \"arn:aws:iam::1:role/one\", session_name: one}}",
        "sts.eu-west-1.amazonaws.com"
      ),
    ])
  func `what a credential needs is asked for through the parent, and nowhere else`(_ credential: String, _ host: String) throws
  {
    let parent = try ParentServer()
    try parent.set(#"{"answer": "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"}"#)
    let key = try TokenKey.make("RS256").privateKey
    let text = try Self.configuration(parent, credential.replacingOccurrences(of: "KEY", with: key))
    try withProxy(text) { proxy throws in
      #expect(try [502, 503].contains(proxy.ask("http://api.test/echo").status))
      let asked = try parent.asked()
      #expect(asked.count >= 1 && Set(asked.map(\.target)) == ["\(host):443"], "\(asked.map(\.target))\n\(proxy.tail)")
      #expect(proxy.process.awaitLine { $0.contains("the parent proxy corporate: it does not let this through") } != nil)
    }
  }

  @Test func `a login goes through the parent`() throws {
    let parent = try ParentServer()
    try parent.set(#"{"answer": "HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n"}"#)
    let folder = try Surroundings.newFolder()
    let login = "oauth2: {grant: device_code, issuer: \"https://issuer.test\", client_id: id}"
    let text = try Self.configuration(parent, login, more: "token_store: {file: tokens.json}")
    try ProxyProcess.write("listen: 127.0.0.1:0\n" + text, to: folder + "/proxy.conf")
    let done = try ChildProcess.run(
      Surroundings.program, ["login", "--config", folder + "/proxy.conf", "api"], environment: ["BROWSER": "/bin/false"])
    #expect(done.status != .exited(0))
    #expect(done.errors.contains("the parent proxy corporate"), "\(done.output)\(done.errors)")
    #expect(Set(try parent.asked().map(\.target)) == ["issuer.test:443"])
  }

  @Test func `a cloud's metadata service is asked directly`() throws {
    let (parent, sources) = (try ParentServer(), try KeySources())
    let identity = "cloud_identity: {cloud: google, scopes: [\"https://scope.test/a\"]}"
    let environment = ["GCE_METADATA_HOST": "127.0.0.1:\(sources.port)"]
    try withProxy(try Self.configuration(parent, identity), environment: environment) { proxy throws in
      _ = try proxy.ask("http://api.test/echo")
      #expect(try sources.state().asked.count == 1, "\(proxy.tail)")
      #expect(try parent.asked().isEmpty)
    }
  }

  private static func token(_ name: String, _ more: String = "") throws -> String {
    let url = "https://token.example.test:\(try Origin.shared().ports.https)/oauth/\(name)/token"
    return "oauth2: {grant: client_credentials, token_url: \"\(url)\", client_id: id, client_secret: s-5ecret\(more)}"
  }

  @Test func `a token comes by the next parent where the first is down`() throws {
    let (first, second, name) = (try ParentServer(), try ParentServer(), Origin.newName())
    try first.set(#"{"closes": true}"#)
    let text = try Self.configuration(first, try Self.token(name), more: "admin: 127.0.0.1:0")
      .replacingOccurrences(of: "via: corporate", with: "via: [corporate, backup]")
      .replacingOccurrences(of: "parents: {", with: "parents: {backup: {url: \"\(second.url("http"))\"}, ")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://api.test/api/\(name)/x").status == 200, "\(proxy.tail)")
      #expect(try second.asked().count == 1)
      #expect(try proxy.metric(#"authproxy_parent_up{parent="corporate"}"#) == 0)
    }
  }

  @Test func `a token server that must be asked about first is asked through the parent, when the answer is there`() throws {
    let (parent, world, name) = (try ParentServer(), try TrustWorld(), Origin.newName())
    let responder = "http://authority.test:\(world.port)/ocsp/good"
    let policy = """
      trust:
        default:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
        asked:
          - default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}
          - revocation: {check: leaf, methods: [ocsp], require_positive_response: true, responder: "\(responder)"}
      """
    try withProxy(try Self.configuration(parent, try Self.token(name, ", trust: asked"), more: policy)) { proxy throws in
      #expect(try proxy.ask("http://api.test/api/\(name)/x").status == 200, "\(proxy.tail)")
      let token = "token.example.test:\(try Origin.shared().ports.https)"
      #expect(try parent.asked().map(\.target) == [token, responder, token])
      #expect(try world.count("good") == 1)
    }
  }
}
