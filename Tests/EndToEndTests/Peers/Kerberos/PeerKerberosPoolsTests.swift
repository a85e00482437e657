import Foundation
import Testing

/// Connections that were authenticated as the proxy serve their entry, and nobody else (CVE-2015-3148).
@Suite(.needsKerberos) struct PeerKerberosPoolsTests {
  @Test func `no other entry gets them, with another credential, the same, or none`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let more = """
        - {match: twin.test, origin: "\(acceptor.base)", credential: intranet}
        - {match: other.test, origin: "\(acceptor.base)", credential: by-password}
        - {match: open.test, origin: "\(acceptor.base)"}
        - {match: basic.test, origin: "\(acceptor.base)", credential: basic}
      """
    let credentials = """
        by-password: {allow_plaintext: true, negotiate: {password: pass-5ecret, principal: svc}}
        basic: {allow_plaintext: true, basic: {username: u, password: p-5ecret}}
      """
    try withProxy(
      acceptor.configuration(more: more, top: credentials + "\nthreads: 1"), environment: realm.environment
    ) { proxy throws in
      var asked: [String] = []
      for round in 0..<4 {
        for host in ["api", "open", "other", "basic", "twin", "open"] {
          let answer = try proxy.ask("http://\(host).test/\(host)\(round)")
          asked.append(host)
          let user = ["api": "app@EXAMPLE.TEST ", "twin": "app@EXAMPLE.TEST ", "other": "svc@EXAMPLE.TEST "][host]
          #expect(answer.status == (user == nil ? 401 : 200), "\(host): \(answer.head)")
          if let user { #expect(answer.text == "\(user)/\(host)\(round)") }
        }
      }
      let uses = try acceptor.state().uses
      #expect(uses.count == asked.count)
      let entries = Dictionary(grouping: uses, by: \.connection).mapValues { Set($0.map { $0.path.filter(\.isLetter) }) }
      for (number, names) in entries {
        #expect(names.count == 1 || names == ["open", "basic"], "connection \(number): \(names)")
      }
      // And they are pooled: one for each of the three.
      for host in ["api", "twin", "other"] {
        #expect(Set(uses.filter { $0.path.hasPrefix("/\(host)") }.map(\.connection)).count == 1, "\(host)")
      }
    }
  }

  @Test func `after a reload that changes who the proxy is, the old connections serve nobody`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    try withProxy(acceptor.configuration(top: "threads: 1"), environment: realm.environment) { proxy throws in
      #expect(try proxy.ask("http://api.test/x").text == "app@EXAMPLE.TEST /x")
      try proxy.reload(acceptor.configuration("password: pass-5ecret, principal: svc", top: "threads: 1"))
      #expect(try proxy.ask("http://api.test/x").text == "svc@EXAMPLE.TEST /x")
      let uses = try acceptor.state().uses
      #expect(uses.count == 2 && uses[0].connection != uses[1].connection)
    }
  }
}
