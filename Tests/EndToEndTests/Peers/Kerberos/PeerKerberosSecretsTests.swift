import Foundation
import Testing

/// No output has a password, a key, a ticket or a token.
@Suite(.needsKerberos) struct PeerKerberosSecretsTests {
  @Test func `at level trace no log, page, answer, check or explain has a password, a key or a token`() throws {
    let realm = try KerberosRealm()
    let acceptor = try KerberosAcceptor(realm)
    let base = acceptor.base
    let text = """
      admin: 127.0.0.1:0
      log: {level: trace}
      upstreams:
        - {match: keytab.test, origin: "\(base)", credential: by-keytab}
        - {match: password.test, origin: "\(base)", credential: by-password}
        - {match: wrong.test, origin: "\(base)", credential: wrong}
        - {match: unknown.test, origin: "\(base)", credential: unknown}
      credentials:
        by-keytab: {allow_plaintext: true, negotiate: {keytab: \(realm.clientKeytab), mutual: required}}
        by-password: {allow_plaintext: true, negotiate: {password: pass-5ecret, principal: svc}}
        wrong: {allow_plaintext: true, negotiate: {password: wrong-5ecret, principal: svc}}
        unknown: {allow_plaintext: true, negotiate: {password: pass-5ecret, principal: svc, service_principal: HTTP/no.test}}

      """
    let proxy = try ProxyProcess(text, environment: realm.environment)
    var said: [String] = []
    func ask(_ host: String, _ status: Int) throws {
      let answer = try proxy.ask("POST", "http://\(host).test/x", body: "x")
      #expect(answer.status == status, "\(host): \(answer.head)")
      said += [answer.head, answer.text]
    }
    for (host, status) in [("keytab", 200), ("password", 200), ("wrong", 502), ("unknown", 502)] { try ask(host, status) }
    var uses = try acceptor.set(#"{"mode": "forbid"}"#).uses
    try ask("keytab", 401)
    uses += try acceptor.set(#"{"mode": "rounds"}"#).uses
    try ask("keytab", 200)
    uses += try acceptor.set(#"{"mode": "garbage"}"#).uses
    try ask("password", 502)
    uses += try acceptor.state().uses
    for page in ["metrics", "status", "readyz?credentials"] { said.append(try proxy.admin(page).text) }
    let configuration = proxy.configurationPath
    for words in [["check", "--config", configuration]]
      + ["keytab", "password"].flatMap({ host in
        [[], ["--sign"]].map { ["explain", "--config", configuration] + $0 + ["POST", "http://\(host).test/x"] }
      })
    {
      let done = try ChildProcess.run(Surroundings.program, words, environment: realm.environment)
      #expect(done.status == .exited(0), "\(words): \(done.errors)")
      said += [done.output, done.errors]
    }
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
    said += proxy.process.lines + [proxy.process.errors]
    // The beginning of each token is the same: what follows it is secret.
    let tokens = uses.flatMap { [$0.sent, $0.proof] }.compactMap { $0.map { String($0.dropFirst($0.count / 2)) } }
      .filter { $0.count > 16 }
    #expect(tokens.count >= 8)
    let keys = try ChildProcess.run("klist", ["-kKt", realm.clientKeytab], environment: realm.environment).output
      .matches(of: /\(0x([0-9a-f]+)\)/).map { String($0.1) }
    #expect(!keys.isEmpty)
    for secret in tokens + keys + ["pass-5ecret", "wrong-5ecret"] {
      for text in said where text.contains(secret) { Issue.record("a secret in: \(text.prefix(400))") }
    }
  }
}
