import Foundation
import Testing

/// squid as a parent that wants Negotiate or Digest: a proxy by other hands.
@Suite(
  .needsKerberos, .needs("squid", "test -x /usr/lib/squid/negotiate_kerberos_auth && test -x /usr/lib/squid/digest_file_auth"))
struct PeerSquidLoginTests {
  @Test(arguments: ["negotiate", "digest"])
  func `squid lets requests, bodies and tunnels pass, and its log says who asked`(_ kind: String) throws {
    let (realm, origin) = (try KerberosRealm(), try Origin())
    let squid = try ChildProcess(
      KerberosRealm.python, [Surroundings.support + "/kerberos/squid.py", realm.serviceKeytab, "svc:pass-5ecret"],
      environment: realm.environment)
    defer {
      squid.closeInput()
      _ = squid.awaitEnd(seconds: 10)
    }
    let port = try #require(squid.awaitLine(seconds: 20, where: { _ in true }).flatMap { Int($0) }, "\(squid.errors)")
    let login =
      kind == "digest"
      ? "digest: {username: svc, password: pass-5ecret}" : "negotiate: {keytab: \(realm.clientKeytab), mutual: optional}"
    let configuration = """
      via: corporate
      parents: {corporate: {url: "http://localhost:\(port)", credential: proxy-login}}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)"}
        - {match: plain.test, origin: "http://localhost:\(origin.ports.http)"}
      credentials:
        proxy-login: {allow_plaintext: true, \(login)}
      connect: {allow: ["x.far.test:\(origin.ports.http)"]}
      threads: 1

      """
    try withProxy(configuration, environment: realm.environment) { proxy throws in
      // More than squid takes with one nonce.
      for index in 0..<12 {
        let body = String(repeating: "x", count: index * 5_000)
        let answer = try proxy.ask("POST", "http://plain.test/status/200?\(index)", body: body)
        #expect(answer.status == 200, "\(index): \(answer.head)\(answer.text)\(proxy.tail)")
        #expect(try proxy.ask("http://api.test/echo").status == 200, "\(proxy.tail)")
        try origin.dropConnections("https")
      }
      let client = try proxy.connect()
      let target = "x.far.test:\(origin.ports.http)"
      try client.send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\r\n")
      #expect(try client.readAnswer(to: "CONNECT").status == 200, "\(proxy.tail)")
      let user = kind == "digest" ? "svc" : "app@EXAMPLE.TEST"
      #expect(squid.awaitLine { $0.hasPrefix("POST") && $0.hasSuffix("200 \(user)") } != nil, "\(squid.lines)")
      #expect(squid.awaitLine { $0.hasPrefix("CONNECT localhost:\(origin.ports.https)") && $0.hasSuffix("200 \(user)") } != nil)
      #expect(!(proxy.process.lines + squid.lines).contains { $0.contains("5ecret") })
    }
  }
}
