import Foundation
import Testing

/// Apache's mod_auth_gssapi: an acceptor by other hands.
@Suite(.needsKerberos, .needs("libapache2-mod-auth-gssapi", "test -e /usr/lib/apache2/modules/mod_auth_gssapi.so"))
struct PeerApacheNegotiateTests {
  @Test func `Apache takes every token, and its proof is right`() throws {
    let realm = try KerberosRealm()
    let apache = try ChildProcess(
      KerberosRealm.python, [Surroundings.support + "/kerberos/apache.py", realm.serviceKeytab], environment: realm.environment)
    defer {
      apache.closeInput()
      _ = apache.awaitEnd(seconds: 10)
    }
    let port = try #require(apache.awaitLine(where: { _ in true }).flatMap { Int($0) }, "\(apache.errors)")
    let configuration = """
      upstreams:
        - {match: api.test, origin: "http://localhost:\(port)", credential: intranet}
        - {match: open.test, origin: "http://localhost:\(port)"}
      credentials:
        intranet: {allow_plaintext: true, negotiate: {keytab: \(realm.clientKeytab), mutual: required}}
      """
    try withProxy(configuration, environment: realm.environment) { proxy throws in
      for _ in 0..<5 {
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.status == 200, "\(answer.head)\(answer.text)")
        #expect(answer["X-User"] == "app@EXAMPLE.TEST")
        #expect(answer["WWW-Authenticate"] == nil)
        let other = try proxy.ask("http://open.test/x")
        #expect(other.status == 401)
      }
      #expect(try realm.answered("TGS_REQ") == 1)
    }
  }
}
