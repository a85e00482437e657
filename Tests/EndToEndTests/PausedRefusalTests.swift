import Foundation
import Testing

/// Refusals with bodies that are too large to be copied wait on their connections, a few for each origin.
@Suite struct PausedRefusalTests {
  @Test func `one too many is relayed, and its token is refreshed all the same`() throws {
    let first = try TokenServer(#"{"size": 300000}"#)
    let second = try TokenServer(#"{"size": 300000}"#)
    let other = """
        - match: other.test
          origin: https://localhost:\(first.origin.ports.https)
          credential: other
      credentials:
        other:
          oauth2: {grant: client_credentials, token_url: \(second.tokenURL), client_id: me, client_secret: shh-5ecret-client}
      """
    // A tenth of the connections may be paused, and one at least.
    let text = try first.configuration(top: "limits: {upstream_connections: 2}")
      .replacingOccurrences(of: "credentials:", with: other)
    try withProxy(text) { proxy in
      let url = second.url().replacingOccurrences(of: "api.test", with: "other.test")
      #expect(try proxy.ask(first.url()).status == 200)
      #expect(try proxy.ask(url).status == 200)
      try first.set(#"{"revoke": true, "queue": [{"gate": "on"}]}"#)
      try second.set(#"{"revoke": true}"#)
      let waiting = try proxy.connect()
      try waiting.send(ProxyProcess.request("GET", first.url()))
      try first.origin.await(first.name, gate: "on")
      let relayed = try proxy.ask(url)
      #expect(relayed.status == 401 && relayed.body.count == 300_000)
      #expect(relayed.proxyDetails == "not retried, too many large refusals are held", "\(relayed.head)")
      #expect(try eventually { try second.state().requests.count == 2 })
      try first.openGate()
      #expect(try waiting.readAnswer().status == 200)
      #expect(try proxy.ask(url).status == 200)
    }
  }
}
