import Foundation
import Testing

/// A 401 over HTTP/2: the token is refreshed, and the request is sent again on its connection.
@Suite struct HTTP2RefusedTokenTests {
  @Test func `a refused request is repeated on its connection, and a large refusal is reset`() throws {
    let peer = try Origin.shared()
    let server = try TokenServer(origin: peer)
    let origin = try HTTP2Origin()
    let refusal: [[String]] = [[":status", "401"], ["www-authenticate", "Bearer"]]
    try origin.script("small", [.awaitEnd, .head(refusal), .last("no")], HTTP2Origin.Step.answer("yes"))
    try origin.script("large", [.awaitEnd, .head(refusal), .zeros(100_000), .end([])], HTTP2Origin.Step.answer("yes"))
    let credentials = """
      credentials:
        api:
          oauth2:
            grant: client_credentials
            token_url: \(server.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
          allow_plaintext: true
      """
    try withProxy(origin.configuration("credential: api") + credentials) { proxy throws in
      for name in ["small", "large"] {
        #expect(try proxy.ask("POST", "http://api.test/?id=\(name)", body: "body").text == "yes")
        let requests = try origin.tell().of(name)
        #expect(requests.map(\.body) == ["body", "body"] && Set(requests.map(\.connection)) == [1])
        #expect(requests.count == 2 && requests[0]["authorization"] != requests[1]["authorization"])
      }
    }
  }
}
