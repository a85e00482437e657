import Foundation
import Testing

/// Keytabs and ticket caches that go, come and change, and what that may cost.
@Suite(.needsKerberos) struct PeerKerberosSourcesTests {
  @Test(arguments: ["keytab", "ccache"])
  func `a file that goes away and comes back serves as before`(_ source: String) throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let file = source == "keytab" ? realm.clientKeytab : realm.folder + "/cc"
    if source == "ccache" { try realm.kinit(file) }
    let files = FileManager.default
    try withProxy(
      acceptor.configuration("\(source): \(file)", entry: ", timeouts: {credential: 2s}"), environment: realm.environment
    ) { proxy throws in
      #expect(try proxy.ask("http://api.test/x").status == 200)
      for _ in 0..<2 {
        try files.moveItem(atPath: file, toPath: file + ".away")
        #expect(try proxy.ask("http://api.test/x").status == 200)
        try files.moveItem(atPath: file + ".away", toPath: file)
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.status == 200, "\(answer.head)\(answer.text)")
      }
    }
  }

  @Test func `a keytab that changes while the KDC is silent holds up nobody, and is used when the KDC answers`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let keytab = realm.folder + "/changing.keytab"
    try realm.makeKeytab("early", keytab, adds: true)
    try withProxy(acceptor.configuration("keytab: \(keytab)"), environment: realm.environment) { proxy throws in
      #expect(try proxy.ask("http://api.test/x").text == "early@EXAMPLE.TEST /x")
      try realm.kdc("stop")
      try realm.makeKeytab("later", keytab, adds: true)
      let began = Date()
      for _ in 0..<20 {
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.text == "early@EXAMPLE.TEST /x", "\(answer.head)")
      }
      #expect(Date().timeIntervalSince(began) < 5)
      try realm.kdc("continue")
      #expect(try eventually(seconds: 20) { try proxy.ask("http://api.test/x").text == "later@EXAMPLE.TEST /x" })
    }
  }

  @Test func `a keytab that changes while there is no KDC is used when there is one`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let keytab = realm.folder + "/changing.keytab"
    try realm.makeKeytab("early", keytab, adds: true)
    try withProxy(acceptor.configuration("keytab: \(keytab)"), environment: realm.environment) { proxy throws in
      #expect(try proxy.ask("http://api.test/x").text == "early@EXAMPLE.TEST /x")
      try realm.kdc("kill")
      try realm.makeKeytab("later", keytab, adds: true)
      #expect(try proxy.ask("http://api.test/x").text == "early@EXAMPLE.TEST /x")
      try realm.kdc("start")
      #expect(try eventually(seconds: 10) { try proxy.ask("http://api.test/x").text == "later@EXAMPLE.TEST /x" })
    }
  }

  @Test func `a refused password is one failed login, for all services together`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let more = "  - {match: other.test, origin: \"http://127.0.0.1:\(acceptor.port)\", credential: intranet}"
    try withProxy(
      acceptor.configuration("password: wrong-5ecret, principal: svc", more: more), environment: realm.environment
    ) { proxy throws in
      for host in ["api", "other", "api", "other"] {
        let answer = try proxy.ask("http://\(host).test/x")
        #expect(answer.status == 502)
        #expect(answer.text.contains("the KDC refuses the password of svc@EXAMPLE.TEST"), "\(answer.text)")
      }
      let log = try String(contentsOfFile: realm.folder + "/kdc.log", encoding: .utf8)
      #expect(log.split(separator: "\n").count { $0.contains("PREAUTH_FAILED") } == 1, "\(log)")
    }
  }

  @Test func `a service that nobody has registered leaves the credential ready for others`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let more = "  - {match: unknown.test, origin: \"http://127.0.0.1:\(acceptor.port)\", credential: intranet}"
    try withProxy(acceptor.configuration(more: more), environment: realm.environment) { proxy throws in
      for host in ["unknown", "api", "unknown"] {
        #expect(try proxy.ask("http://\(host).test/x").status == (host == "api" ? 200 : 502))
        let ready = try proxy.admin("readyz?credentials")
        #expect(ready.status == 200, "\(host): \(ready.text)")
      }
    }
  }

  @Test func `a ticket cache with tickets for another realm alone has no ticket`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let cache = realm.folder + "/cc"
    try realm.add("krbtgt/OTHER.TEST@EXAMPLE.TEST")
    try realm.kinit(cache, "-S", "krbtgt/OTHER.TEST@EXAMPLE.TEST")
    try withProxy(acceptor.configuration("ccache: \(cache)"), environment: realm.environment) { proxy throws in
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 502)
      #expect(answer.text.contains("has no ticket"), "\(answer.text)")
    }
  }

  @Test func `tickets that expire at once are a 503, and are not fetched without end`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try realm.local("modprinc -maxlife 1sec app")
    try withProxy(
      acceptor.configuration(entry: ", timeouts: {credential: 2s}", top: "threads: 1"), environment: realm.environment
    ) { proxy throws in
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 503)
      #expect(answer.text.contains("expires"), "\(answer.text)")
      #expect(try realm.answered("TGS_REQ") <= 2)
    }
  }
}
