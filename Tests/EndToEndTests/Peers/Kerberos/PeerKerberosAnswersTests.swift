import Foundation
import Testing

/// What an origin answers: proved, unproved, wrong, or nothing that the proxy speaks.
@Suite(.needsKerberos) struct PeerKerberosAnswersTests {
  @Test(arguments: ["garbage", "other"])
  func `a wrong answer token is a 502, and nothing of the answer is relayed`(_ mode: String) throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(), environment: realm.environment) { proxy throws in
      try acceptor.set("{\"mode\": \"\(mode)\"}")
      // For `other`, the first answer's token is its own.
      if mode == "other" { #expect(try proxy.ask("http://api.test/x").status == 200) }
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 502, "\(answer.head)")
      #expect(answer.proxyError == "http_protocol_error")
      #expect(!answer.text.contains("app@EXAMPLE.TEST"))
    }
  }

  @Test func `an answer without a token is relayed, unless mutual is required`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(), environment: realm.environment) { proxy throws in
      try acceptor.set(#"{"mode": "silent"}"#)
      #expect(try proxy.ask("http://api.test/x").status == 200)
      try proxy.reload(acceptor.configuration("keytab: \(realm.clientKeytab), mutual: required"))
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 502)
      #expect(answer.proxyError == "http_protocol_error")
      #expect(answer.text.contains("mutual"))
      try acceptor.set(#"{"status": 404}"#)
      #expect(try proxy.ask("http://api.test/x").status == 404)
    }
  }

  @Test func `NTLM alone is never answered: its 401 is relayed, and Proxy-Status says so`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(), environment: realm.environment) { proxy throws in
      try acceptor.set(#"{"mode": "ntlm"}"#)
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 401)
      #expect(answer["WWW-Authenticate"] == "NTLM")
      #expect(answer.proxyDetails == "not retried, the upstream offers NTLM alone, which the proxy does not speak")
      #expect(try acceptor.state().uses.count == 1)
    }
  }

  @Test func `who is known and may not gets the 401 of the origin, at once`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(), environment: realm.environment) { proxy throws in
      try acceptor.set(#"{"mode": "forbid"}"#)
      let answer = try proxy.ask("http://api.test/x")
      #expect(answer.status == 401)
      #expect(try acceptor.state().uses.count == 1)
      // The token was for the proxy.
      #expect(answer["WWW-Authenticate"] == "Negotiate")
    }
  }

  @Test func `a bare Negotiate has the ticket fetched again, once; a service that always says so costs the KDC little`() throws
  {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(top: "threads: 1"), environment: realm.environment) { proxy throws in
      try acceptor.set(#"{"mode": "refuse"}"#)
      let first = try proxy.ask("http://api.test/x")
      #expect(first.status == 401)
      #expect(first.proxyDetails == "refused again with a fresh credential")
      #expect(try acceptor.state().uses.count == 2)
      #expect(try realm.answered("TGS_REQ") == 2)
      for _ in 0..<5 {
        let answer = try proxy.ask("http://api.test/x")
        #expect(answer.status == 401)
        #expect(answer.proxyDetails == "not retried, this request refused a fresh credential before")
      }
      #expect(try acceptor.state().uses.count == 7)
      #expect(try realm.answered("TGS_REQ") == 2)
      try acceptor.set("{}")
      #expect(try proxy.ask("http://api.test/x").status == 200)
    }
  }

  @Test func `what everybody may read does not make up for what refuses every ticket`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(top: "threads: 1"), environment: realm.environment) { proxy throws in
      try acceptor.set(#"{"open": "/open", "refused": "/no"}"#)
      #expect(try proxy.ask("http://api.test/no").status == 401)
      #expect(try realm.answered("TGS_REQ") == 2)
      for _ in 0..<4 {
        #expect(try proxy.ask("http://api.test/open").status == 200)
        #expect(try proxy.ask("http://api.test/no").status == 401)
      }
      #expect(try realm.answered("TGS_REQ") == 2)
      // A ticket that was taken does.
      #expect(try proxy.ask("http://api.test/x").status == 200)
      #expect(try proxy.ask("http://api.test/no").status == 401)
      #expect(try realm.answered("TGS_REQ") == 3)
    }
  }
}
