import Foundation
import Testing

/// Kerberos with MIT's KDC and MIT's acceptor: tokens, tickets and connections.
@Suite(.needsKerberos) struct PeerNegotiateTests {
  @Test func `every request carries a token from the first on, no body is sent twice, and one ticket serves all`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(top: "threads: 2"), environment: realm.environment) { proxy throws in
      for index in 0..<5 {
        let answer = try proxy.ask("POST", "http://api.test/\(index)", body: "marked \(index)")
        #expect(answer.status == 200, "\(answer.head)\(answer.text)\(proxy.tail)")
        #expect(answer.text == "app@EXAMPLE.TEST /\(index)")
        #expect(answer["WWW-Authenticate"] == nil)
        #expect(answer.proxyDetails == nil)
      }
      let state = try acceptor.state()
      #expect(state.uses.map(\.status) == Array(repeating: 200, count: 5))
      #expect(state.uses.allSatisfy { $0.delegated == false && $0.length == 8 && $0.token > 300 })
      #expect(try realm.answered("AS_REQ") == 1)
      #expect(try realm.answered("TGS_REQ") == 1)
    }
  }

  @Test(arguments: ["ccache", "password", "keytab"])
  func `tickets come from each source, over TLS bound to the origin's certificate`(_ source: String) throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm, certificate: "good")
    let cache = realm.folder + "/cc"
    let (keys, user) =
      switch source {
      case "ccache": ("ccache: \"FILE:\(cache)\"", "app")
      case "password": ("password: pass-5ecret, principal: svc@EXAMPLE.TEST", "svc")
      default: ("keytab: \(realm.clientKeytab), service_principal: HTTP/localhost@EXAMPLE.TEST, mutual: required", "app")
      }
    if source == "ccache" { try realm.kinit(cache) }
    let before = try? Data(contentsOf: URL(fileURLWithPath: cache))
    try withProxy(acceptor.configuration(keys), environment: realm.environment) { proxy throws in
      for _ in 0..<3 {
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.status == 200, "\(answer.head)\(proxy.tail)")
        #expect(answer.text == "\(user)@EXAMPLE.TEST /x")
      }
      // Resumed sessions show no certificate, and bind all the same.
      try acceptor.set(#"{"close": true}"#)
      for _ in 0..<4 { #expect(try proxy.ask("http://api.test/x").status == 200) }
      #expect(try Set(acceptor.state().uses.map(\.connection)).count == 4)
      try acceptor.set(#"{"bind": "other"}"#)
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 401)
      #expect(answer.proxyDetails == "refused again with a fresh credential")
      let uses = try acceptor.set("{}").uses
      #expect(uses.map(\.status) == [401, 401])
      #expect(uses.allSatisfy { $0.why.contains("channel bindings") }, "\(uses.map(\.why))")
      // The one who ends the TLS is not the acceptor: then none is bound.
      try proxy.reload(acceptor.configuration(keys + ", channel_binding: false"))
      try acceptor.set(#"{"bind": "other"}"#)
      #expect(try proxy.ask("http://api.test/x").status == 200)
    }
    // Nobody's file is written.
    let after = try? Data(contentsOf: URL(fileURLWithPath: cache))
    #expect(after == before)
  }

  @Test func `a second round goes over the same connection, which no other request gets meanwhile`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm, certificate: "good")
    try withProxy(acceptor.configuration("keytab: \(realm.clientKeytab), mutual: required"), environment: realm.environment) {
      proxy throws in
      try acceptor.set(#"{"mode": "rounds"}"#)
      for size in [0, 5_000, 60_000] {
        let answer = try proxy.ask("POST", "http://api.test/x", body: String(repeating: "b", count: size))
        #expect(answer.status == 200, "\(size): \(answer.head)\(answer.text)\(proxy.tail)")
        #expect(answer.text == "app@EXAMPLE.TEST /x")
        #expect(answer["WWW-Authenticate"] == nil)
        let uses = try acceptor.set(#"{"mode": "rounds"}"#).uses
        #expect(uses.map(\.why) == ["continues", ""], "\(size)")
        #expect(uses.map(\.length) == [size, size])
        #expect(Set(uses.map(\.connection)).count == 1)
      }
      // While the 401's body is on its way, others need connections of their own.
      try acceptor.set(#"{"mode": "rounds", "slow": 300}"#)
      let load = try LoadGenerator.load(proxy, "http://api.test/y", "--clients", "16", "--requests", "64")
      #expect(load.good == 64, "\(load.statuses)")
      let uses = try acceptor.state().uses
      #expect(uses.count { $0.status == 200 } == 64)
      #expect(uses.count { $0.why == "continues" } == 64)
      // Each connection alternates: question, answer.
      for (number, of) in Dictionary(grouping: uses, by: \.connection) {
        #expect(of.enumerated().allSatisfy { $0.element.why == ($0.offset % 2 == 0 ? "continues" : "") }, "\(number)")
      }
      // Behind the authentication, connections serve other apps again.
      #expect(Set(uses.map(\.connection)).count <= 20)
    }
  }

  @Test(arguments: [1, 2])
  func `a second round keeps its connection although the origin may have no other, and requests wait for it`(threads: Int)
    throws
  {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let top = """
      clients: [{name: one, password: one-5ecret}, {name: other, password: other-5ecret}]
      threads: \(threads)
      limits: {upstream_connections: 1}
      timeouts: {connect: 30s}
      """
    func client(_ name: String) -> String {
      "Proxy-Authorization: Basic \(Data("\(name):\(name)-5ecret".utf8).base64EncodedString())"
    }
    try withProxy(acceptor.configuration(top: top), environment: realm.environment) { proxy throws in
      // Those that wait for the connection shall not all wait for the ticket first.
      #expect(try proxy.ask("http://api.test/x", [client("one")]).status == 200)
      try acceptor.set(#"{"mode": "rounds"}"#)
      let loads = try ["one", "other"].map {
        try LoadGenerator.start(
          proxy, "http://api.test/y", ["--clients", "4", "--requests", "20", "--header", client($0)])
      }
      for load in loads {
        let result = try LoadGenerator.result(load)
        #expect(result.good == 20, "\(result.statuses)")
      }
      #expect(try acceptor.state().uses.map(\.why) == Array(repeating: ["continues", ""], count: 40).flatMap(\.self))
    }
  }
}
