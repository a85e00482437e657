import Foundation
import Testing

/// `authproxy check`: all mistakes at once, each with its place.
@Suite struct CheckCommandTests {
  private func check(_ text: String, command: String = "check") throws -> ChildProcess.Finished {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(text, to: folder + "/proxy.conf")
    return try ChildProcess.run(Surroundings.program, [command, "--config", "proxy.conf"], folder: folder)
  }

  static let eightMistakes = """
    listen: 127.0.0.1:0
    timeouts: {idle: 75}
    limits:
      request_head: 32Kib
    upstreams:
      - match: api.test
        credential: missing
      - match: ftp.test
        origin: ftp://api.test
      - match: typo.test
        trsut: strict
      - match: twice.test
      - name: again
        match: twice.test
    credentials:
      billing:
        basic: {username: svc, pasword: x}
    unlisted_hosts: maybe
    """

  @Test func `a file with eight mistakes gets eight errors, each with its place`() throws {
    let done = try check(Self.eightMistakes)
    #expect(done.status == .exited(78))
    let places = done.errors.split(separator: "\n").filter { $0.contains(": error: ") }
    let expected: [(line: Int, word: String)] = [
      (2, "idle"), (4, "request_head"), (7, "missing"), (9, "origin"), (11, "trsut"), (14, "match"), (17, "pasword"),
      (18, "maybe"),
    ]
    for (line, word) in expected {
      let there = places.contains { $0.hasPrefix("proxy.conf:\(line):") && $0.contains(word) }
      #expect(there, "line \(line), \(word): \(done.errors)")
    }
    #expect(places.count == 8, "\(done.errors)")
    // The missing password of basic is reported with the unknown key, or is that error itself.
    let others = places.filter { place in !expected.contains { place.hasPrefix("proxy.conf:\($0.line):") } }
    #expect(others.isEmpty, "\(others)")
    #expect(places.contains { $0.contains("did you mean 'password'?") })
    #expect(places.contains { $0.contains("did you mean 'trust'?") })
  }

  @Test func `run says the same of a bad file, and exits with 78`() throws {
    let done = try check(Self.eightMistakes, command: "run")
    #expect(done.status == .exited(78))
    #expect(done.errors.contains("proxy.conf:2:"))
  }

  @Test func `a good file passes`() throws {
    let done = try check(try ProxyProcess.complete(try Configuration.https()))
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(!(done.output + done.errors).contains(Configuration.secretMark))
  }

  static let login = """
    listen: 127.0.0.1:0
    upstreams: [{match: mail.test, credential: mailbox}]
    credentials:
      mailbox:
        oauth2:
          grant: authorization_code
          issuer: https://login.test
          client_id: c
          scope: openid
          use: id_token
          resource: https://mail.test
    token_store: {file: tokens.json}
    """

  /// - Parameter store: content of the token file; nil: there is none.
  private func checkLogin(store: String?) throws -> (done: ChildProcess.Finished, files: [String]) {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(Self.login, to: folder + "/proxy.conf")
    if let store { try ProxyProcess.write(store, to: folder + "/tokens.json") }
    let done = try ChildProcess.run(Surroundings.program, ["check", "--config", "proxy.conf"], folder: folder)
    return (done, try FileManager.default.contentsOfDirectory(atPath: folder).sorted())
  }

  @Test func `nobody has logged in yet: a warning, and nothing is written`() throws {
    let (done, files) = try checkLogin(store: nil)
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(
      done.errors == "proxy.conf: warning: credentials.mailbox: nobody has logged in yet; run \"authproxy login mailbox\"\n")
    #expect(done.output.contains("is valid, with 1 warning."))
    let words = done.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(
      words.contains("oauth2 authorization_code, tokens from the endpoint that https://login.test names for https://mail.test"))
    #expect(words.contains("requests carry the id_token nobody has logged in yet; run \"authproxy login mailbox\""))
    #expect(files == ["proxy.conf"])
  }

  @Test func `a login of another configuration does not count`() throws {
    let binding = Data(count: 32).base64EncodedString()
    let token = Data("tok-5ecret".utf8).base64EncodedString()
    let record = #"{"binding":"\#(binding)","generation":1,"refresh_token":"\#(token)"}"#
    let (done, files) = try checkLogin(store: #"{"version":1,"credentials":{"mailbox":\#(record)}}"#)
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(
      done.errors
        == "proxy.conf: warning: credentials.mailbox: the stored login is of another issuer, token_url, client_id or dpop; "
        + "run \"authproxy login mailbox\"\n")
    #expect(!(done.output + done.errors).contains(token))
    #expect(files == ["proxy.conf", "tokens.json"])
  }

  @Test func `a token store that is none is told, and not touched`() throws {
    let (done, files) = try checkLogin(store: "no token file\n")
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect(done.errors.hasPrefix("proxy.conf: warning: nobody knows who has logged in: "))
    #expect(done.errors.contains("/tokens.json: not a token file"))
    #expect(files == ["proxy.conf", "tokens.json"])
  }

  @Test func `a file that is not there is an error, too`() throws {
    let done = try ChildProcess.run(Surroundings.program, ["check", "--config", "/nowhere/proxy.conf"])
    #expect(done.status == .exited(78))
    #expect(done.errors.contains("/nowhere/proxy.conf"))
  }

  @Test func `a secret in a file that others may read is warned of, and not shown`() throws {
    let folder = try Surroundings.newFolder()
    let path = folder + "/proxy.conf"
    try ProxyProcess.write(try ProxyProcess.complete(try Configuration.https()), to: path)
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    let done = try ChildProcess.run(Surroundings.program, ["check", "--config", path])
    #expect(done.status == .exited(0), "\(done.errors)")
    #expect((done.output + done.errors).contains("warning"))
    #expect(!(done.output + done.errors).contains(Configuration.secretMark))
  }

  @Test func `a credential for an origin in clear HTTP is refused at load`() throws {
    let text = try Configuration.http().replacingOccurrences(of: "    allow_plaintext: true\n", with: "")
    let done = try check(try ProxyProcess.complete(text))
    #expect(done.status == .exited(78))
    #expect(done.errors.contains("allow_plaintext"))
  }
}
