import Foundation
import Testing

/// KDCs, clocks, keys and tickets that fail.
@Suite(.needsKerberos) struct PeerKerberosFaultsTests {
  @Test func `without a KDC requests get 503 until it is there, and held tickets go on`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try realm.kdc("kill")
    try withProxy(acceptor.configuration(), environment: realm.environment) { proxy throws in
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 503, "\(answer.head)")
      #expect(answer.proxyError == "proxy_internal_response")
      #expect(answer["Retry-After"] != nil)
      #expect(answer.text.contains("no KDC answers"), "\(answer.text)")
      try realm.kdc("start")
      #expect(try eventually(seconds: 10) { try proxy.ask("http://api.test/x").status == 200 })
      try realm.kdc("kill")
      for _ in 0..<5 { #expect(try proxy.ask("http://api.test/x").status == 200) }
    }
  }

  @Test func `a slow KDC makes requests wait for one fetch, within timeouts.credential`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(
      acceptor.configuration(entry: ", timeouts: {credential: 1s}", top: "threads: 2"), environment: realm.environment
    ) { proxy throws in
      try realm.kdc("stop")
      let began = Date()
      #expect(try proxy.ask("http://api.test/x").status == 503)
      #expect((0.9...3).contains(Date().timeIntervalSince(began)))
      let connections = try (0..<20).map { _ in try proxy.connect() }
      for connection in connections { try connection.send(ProxyProcess.request("GET", "http://api.test/x")) }
      try realm.kdc("continue")
      for connection in connections { #expect(try connection.readAnswer(to: "GET").status == 200) }
      #expect(try realm.answered("TGS_REQ") == 1)
    }
  }

  @Test(arguments: [600, -600])
  func `a clock that is ten minutes off is corrected by the KDC's`(_ seconds: Int) throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let clock = try ShiftedClock()
    try clock.set(seconds: seconds)
    try withProxy(acceptor.configuration(), environment: realm.environment.merging(clock.environment) { $1 }) { proxy throws in
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)")
      #expect(try acceptor.state().uses.map(\.status) == [200])
    }
  }

  @Test func `a new key of the service costs one repeat, of all requests together`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(top: "threads: 1"), environment: realm.environment) { proxy throws in
      #expect(try proxy.ask("http://api.test/x").status == 200)
      try realm.makeKeytab("HTTP/localhost", realm.serviceKeytab)
      try acceptor.set("{}")
      let answer = try proxy.ask("POST", "http://api.test/x", body: "once more")
      #expect(answer.status == 200, "\(answer.head)\(answer.text)")
      let uses = try acceptor.state().uses
      #expect(uses.map(\.status) == [401, 200])
      #expect(uses.map(\.length) == [9, 9])
      #expect(try realm.answered("TGS_REQ") == 2)
      #expect(try proxy.ask("http://api.test/x").status == 200)
      #expect(try realm.answered("TGS_REQ") == 2)
    }
  }

  @Test func `a keytab that appears, and one that changes, is used by the next request`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let keytab = realm.folder + "/late.keytab"
    try withProxy(acceptor.configuration("keytab: \(keytab)"), environment: realm.environment) { proxy throws in
      let early = try proxy.ask("http://api.test/x")
      #expect(early.status == 502)
      #expect(early.proxyError == "proxy_configuration_error")
      #expect(early.text.contains("late.keytab does not exist"), "\(early.text)")
      try realm.makeKeytab("late", keytab, adds: true)
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.text == "late@EXAMPLE.TEST /x", "\(answer.head)")
      try realm.makeKeytab("later", keytab, adds: true)
      #expect(try proxy.ask("http://api.test/x").text == "later@EXAMPLE.TEST /x")
      // What cannot be had does not take away what is held.
      try realm.kdc("kill")
      try FileManager.default.removeItem(atPath: keytab)
      #expect(try proxy.ask("http://api.test/x").text == "later@EXAMPLE.TEST /x")
    }
  }

  @Test func `a ticket cache that its keeper renews is used by the next request`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let cache = realm.folder + "/cc"
    try withProxy(acceptor.configuration("ccache: \(cache)"), environment: realm.environment) { proxy throws in
      let early = try proxy.ask("http://api.test/x")
      #expect(early.status == 502)
      #expect(early.text.contains("has no ticket"), "\(early.text)")
      try realm.kinit(cache)
      #expect(try proxy.ask("http://api.test/x").status == 200)
      try realm.kinit(cache)
      #expect(try proxy.ask("http://api.test/x").status == 200)
      #expect(try realm.answered("TGS_REQ") == 2)
    }
  }

  @Test func `a refused password is tried once, and says what to do without saying the password`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    func configuration(_ password: String) -> String {
      acceptor.configuration("password: \(password), principal: svc") + "log: {level: trace}\n"
    }
    try withProxy(configuration("wrong-5ecret"), environment: realm.environment) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.status == 502)
        #expect(answer.text.contains("the KDC refuses the password of svc@EXAMPLE.TEST"), "\(answer.text)")
      }
      let log = try String(contentsOfFile: realm.folder + "/kdc.log", encoding: .utf8)
      #expect(log.split(separator: "\n").count { $0.contains("PREAUTH_FAILED") } <= 1, "\(log)")
      try proxy.reload(configuration("pass-5ecret"))
      #expect(try proxy.ask("http://api.test/x").status == 200)
    }
  }

  @Test func `a service that nobody has registered is named`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let keys = "keytab: \(realm.clientKeytab), service_principal: HTTP/nobody.example"
    try withProxy(acceptor.configuration(keys), environment: realm.environment) { proxy throws in
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 502)
      #expect(answer.text.contains("does not know the service HTTP/nobody.example"), "\(answer.text)")
    }
  }

  @Test func `tickets that expire under load fail no request`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try realm.local("modprinc -maxlife 6sec app")
    try withProxy(acceptor.configuration(top: "threads: 2"), environment: realm.environment) { proxy throws in
      let load = try LoadGenerator.load(proxy, "http://api.test/y", "--clients", "8", "--requests", "900", "--rate", "100")
      #expect(load.good == load.requests && load.good > 100, "\(load)")
      #expect(try acceptor.state().uses.allSatisfy { $0.status == 200 })
      #expect(try (2...8).contains(realm.answered("TGS_REQ")))
    }
  }
}
