import Foundation
import Testing

/// Who may have a connection intercepted: said with the CONNECT, and looked at again for each request.
@Suite struct InterceptAccessTests {
  private static let clients = """
    clients:
      - {name: app, password: app-5ecret}
      - {name: guest, password: guest-5ecret, allow: []}
    """

  private func configuration(_ clients: String = Self.clients) throws -> String {
    "listen: {address: 127.0.0.1:0, clients: required}\n" + (try Intercepted.configuration(top: clients))
  }

  @Test func `policy comes before the 200`() throws {
    try withProxy(try configuration()) { proxy throws in
      #expect(try proxy.inside("").connect == 407)
      #expect(try proxy.inside("", "--password", "app:wrong").connect == 407)
      #expect(try proxy.inside("", "--password", "guest:guest-5ecret").connect == 403)
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), "--password", "app:app-5ecret")
      #expect(try seen.echoed()["Authorization"] == "Bearer \(Configuration.token)")
    }
  }

  @Test func `Proxy-Authorization inside decides nothing, and goes nowhere`() throws {
    try withProxy(try configuration()) { proxy throws in
      for value in ["Basic \(Data("guest:guest-5ecret".utf8).base64EncodedString())", "nonsense"] {
        let request = ProxyProcess.last("GET", "/echo", ["Proxy-Authorization: \(value)"])
        let seen = try proxy.inside(request, "--password", "app:app-5ecret")
        #expect(seen.statuses == [200], "\(seen)")
        #expect(try seen.echoed()["Proxy-Authorization"] == nil)
      }
    }
  }

  @Test func `CONNECT inside is no CONNECT of another client either`() throws {
    try withProxy(try configuration()) { proxy throws in
      for field in ["", "Proxy-Authorization: Basic \(Data("guest:guest-5ecret".utf8).base64EncodedString())\r\n"] {
        let request = "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\(field)\r\n"
        #expect(try proxy.inside(request, "--password", "app:app-5ecret").statuses == [405])
      }
    }
  }

  @Test func `an entry for certain clients is intercepted for those alone`() throws {
    let text = """
      upstreams:
        - match: https://api.test
          origin: https://localhost:\(try Origin.shared().ports.https)
          clients: [app]
          credential: api
      credentials:
        api: {bearer: {token: \(Configuration.token)}}
      intercept: {ca: {generate: ca}}
      clients:
        - {name: app, password: app-5ecret}
        - {name: guest, password: guest-5ecret}
      """
    try withProxy(text) { proxy throws in
      #expect(try proxy.inside(ProxyProcess.last("GET", "/echo"), "--password", "app:app-5ecret").statuses == [200])
      #expect(try proxy.inside("", "--password", "guest:guest-5ecret").connect == 403)
      let nobody = try proxy.inside("").connect
      #expect(nobody == 407, "\(nobody)")
    }
  }
}
