import Foundation
import Testing

@Suite struct UnlistedHostTests {
  static let open = "unlisted_hosts: forward\nforbidden_addresses: []\n"

  @Test func `are forwarded in clear where that is asked for, without any credential`() throws {
    try withProxy(try Configuration.https(top: Self.open)) { proxy in
      let port = try Origin.shared().ports.http
      let received = try proxy.ask("http://localhost:\(port)/echo?x").received()
      #expect(received["Authorization"] == nil)
      #expect(received["Host"] == "localhost:\(port)")
      #expect(received.target == "/echo?x")
      #expect(received["Via"] == "1.1 authproxy")
    }
  }

  @Test func `the app's own Authorization passes to an unlisted host`() throws {
    try withProxy(try Configuration.https(top: Self.open)) { proxy in
      let port = try Origin.shared().ports.http
      let received = try proxy.ask(
        "http://localhost:\(port)/echo", ["Authorization: Bearer mine", "Proxy-Authorization: Basic eDp5"]
      ).received()
      #expect(received["Authorization"] == "Bearer mine")
      #expect(received["Proxy-Authorization"] == nil)
    }
  }

  @Test func `https:// targets are reached over verified TLS`() throws {
    try withProxy(try Configuration.https(top: Self.open)) { proxy in
      let ports = try Origin.shared().ports
      let received = try proxy.ask("https://localhost:\(ports.https)/echo").received()
      #expect(received.tls?.sni == "localhost")
      expectOwnAnswer(try proxy.ask("https://localhost:\(ports.wrong_host)/"), 502, "tls_certificate_error")
    }
  }

  @Test func `are denied by default`() throws {
    try withProxy(try Configuration.https(top: "forbidden_addresses: []")) { proxy in
      let port = try Origin.shared().ports.http
      expectOwnAnswer(try proxy.ask("http://localhost:\(port)/"), 403, "http_request_denied")
    }
  }
}
