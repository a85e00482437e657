import Foundation
import Testing

/// The proxy's own requests take the ways of their hosts.
@Suite struct ParentControlTests {
  private func configuration(_ parent: ParentServer, scheme: String, name: String, tls: Bool) throws -> String {
    let origin = try Origin.shared().ports
    let endpoint = tls ? "https://localhost:\(origin.https)" : "http://localhost:\(origin.http)"
    return """
      via: corporate
      parents:
        corporate: {url: "\(parent.url(scheme))", credential: proxy-login}
      upstreams:
        - {match: api.test, origin: "http://localhost:\(origin.http)", credential: api, via: direct}
      credentials:
        proxy-login: {basic: {username: proxyuser, password: pw-5ecret-parent}}
        api:
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(endpoint)/oauth/\(name)/token
            client_id: id
            client_secret: secret-5ecret
      threads: 1

      """
  }

  @Test(arguments: ["http", "https", "socks5h"], [true, false])
  func `a token is fetched through the parent`(_ scheme: String, _ tls: Bool) throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"login": "\#(ParentServer.login)"}"#)
    try withProxy(try configuration(parent, scheme: scheme, name: name, tls: tls)) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)\n\(proxy.tail)")
      let asked = try parent.asked()
      let isAbsolute = scheme != "socks5h" && !tls
      #expect(asked.map(\.kind) == [scheme == "socks5h" ? "socks" : isAbsolute ? "absolute" : "connect"])
      if isAbsolute { #expect(asked.first?.fields["proxy-authorization"]?.count == 1) }
    }
  }

  @Test(arguments: [true, false])
  func `what the parent refuses is said, and nothing goes around it`(_ tls: Bool) throws {
    let (parent, name) = (try ParentServer(), Origin.newName())
    try parent.set(#"{"login": "other:5ecret"}"#)
    try withProxy(try configuration(parent, scheme: "http", name: name, tls: tls)) { proxy throws in
      let answer = try proxy.ask("http://api.test/api/\(name)/x")
      #expect(answer.status == 503)
      let line = proxy.process.awaitLine { $0.contains("the parent proxy corporate: it refuses the credential proxy-login") }
      #expect(line != nil, "\(proxy.tail)")
      #expect(try parent.asked().count == 1)
    }
  }
}
