import Foundation
import Testing

/// Hosts below a wildcard come and go, and so does the proxy's memory of them.
@Suite struct ManyWildcardHostsTests {
  @Test func `hosts whose requests never get a connection leave nothing behind`() throws {
    let refused = try TestListener(backlog: nil)
    let configuration = """
      threads: 1
      log: {access: false}
      upstreams:
        - match: "*.wide.test"
          credential: api
          wildcard_credential: true
      credentials:
        api:
          oauth2:
            grant: client_credentials
            token_url: https://localhost:\(refused.port)/token
            client_id: me
            client_secret: shh-5ecret-client
      """
    try withProxy(configuration) { proxy in
      let client = try proxy.connect()
      func ask(_ count: Int, _ host: (Int) -> String) throws {
        for index in 0..<count {
          try client.send(ProxyProcess.request("GET", "http://\(host(index)).wide.test/"))
          expectOwnAnswer(try client.readAnswer(), 503, "proxy_internal_response")
        }
      }
      try ask(1_000) { _ in "same" }
      let before = try Measures(proxy.pid)
      try ask(8_000) { "host-\($0)" }
      let after = try Measures(proxy.pid)
      #expect(after.resident - before.resident < 2_000, "KiB: \(before) \(after)")
    }
  }
}
