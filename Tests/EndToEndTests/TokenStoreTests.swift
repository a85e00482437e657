import Foundation
import Testing

/// Rotated refresh tokens survive the process, however it ends.
@Suite struct TokenStoreTests {
  private func configuration(_ server: TokenServer, _ store: String, key: String? = nil) throws -> String {
    try server.configuration(
      "grant: refresh_token", "refresh_token: first-5ecret-refresh",
      top: "token_store: {file: \(store)\(key.map { ", key: \($0)" } ?? "")}\nthreads: 1")
  }

  @Test func `after a hundred kills at any instant the credential still works: what was used is on disk`() throws {
    // Nobody can prevent a loss if the kill comes between the server's commit and the proxy's reading. So this server accepts
    // the old token until it sees the new one in use.
    let origin = try Origin()
    let server = try TokenServer(
      #"{"rotate": true, "refresh_token": "first-5ecret-refresh", "confirm": true, "expires_in": 1}"#, origin: origin)
    let folder = try Surroundings.newFolder()
    let configuration = try configuration(server, folder + "/tokens.json")
    var answered = 0
    for round in 0..<100 {
      let issued = try server.state().issued.count
      let proxy = try ProxyProcess(configuration, folder: folder)
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", server.url()))
      // From before the token request to after the first use of its result, and some in the middle of writing.
      if round % 2 == 0 { _ = try? eventually(seconds: 0.5) { try server.state().issued.count > issued } }
      usleep(UInt32.random(in: 0...(round % 2 == 0 ? 4_000 : 40_000)))
      proxy.process.signal(SIGKILL)
      #expect(proxy.process.awaitEnd(seconds: 5) == .killed(signal: SIGKILL))
      // The server may still perform the request of a dead process, which nobody can prevent.
      #expect(try origin.connections("https", most: 0).fits)
      if let answer = try? client.readAnswer() {
        answered += 1
        #expect(answer.status == 200, "round \(round): \(answer.text)")
        if answer.status != 200 { break }
      }
    }
    let proxy = try ProxyProcess(configuration, folder: folder)
    defer { proxy.stop() }
    let answer = try proxy.ask(server.url())
    #expect(answer.status == 200, "\(answer.text)")
    let state = try server.state()
    #expect(state.reuse == nil, "a spent refresh token was sent")
    #expect(state.issued.count - state.lost >= 30, "kills came too early to prove anything")
    #expect(answered < 100, "kills came too late to prove anything")
  }

  @Test func `a restart goes on with the rotated token, and the first one is not asked with again`() throws {
    for key in [nil, Data((0..<32).map { $0 }).base64EncodedString()] {
      let server = try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
      let folder = try Surroundings.newFolder()
      let store = folder + "/tokens.json"
      let configuration = try configuration(server, store, key: key)
      for round in 1...3 {
        let proxy = try ProxyProcess(configuration, folder: folder)
        #expect(try proxy.ask(server.url()).status == 200)
        try server.set(#"{"revoke": true}"#)
        #expect(try proxy.ask(server.url()).status == 200)
        proxy.stop()
        let permissions = try FileManager.default.attributesOfItem(atPath: store)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        let content = try String(contentsOfFile: store, encoding: .utf8)
        let token = Data((try server.state().refresh_token ?? "").utf8).base64EncodedString()
        #expect(content.contains(token) == (key == nil), "round \(round)")
      }
      let state = try server.state()
      #expect(state.reuse == nil)
      // The record's access token is used again: a restart needs no refresh.
      #expect(state.requests.count == 4, "\(state.requests.map { $0.form["refresh_token"] ?? "" })")
    }
  }

  @Test func `two processes on one store take turns`() throws {
    let server = try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh", "expires_in": 3, "delay": 0.1}"#)
    let folder = try Surroundings.newFolder()
    let configuration = try configuration(server, folder + "/tokens.json")
    let first = try ProxyProcess(configuration)
    let second = try ProxyProcess(configuration)
    defer {
      first.stop()
      second.stop()
    }
    let end = Date(timeIntervalSinceNow: 5)
    while Date() < end {
      #expect(try first.ask(server.url()).status == 200)
      #expect(try second.ask(server.url()).status == 200)
      usleep(100_000)
    }
    let state = try server.state()
    #expect(state.reuse == nil)
    #expect(state.concurrent == 1)
  }

  @Test func `a configured token that changes wins over the store`() throws {
    let server = try TokenServer(#"{"rotate": true, "refresh_token": "first-5ecret-refresh"}"#)
    let folder = try Surroundings.newFolder()
    let configuration = try configuration(server, folder + "/tokens.json")
    let before = try ProxyProcess(configuration, folder: folder)
    #expect(try before.ask(server.url()).status == 200)
    before.stop()
    try server.set(#"{"refresh_token": "other-5ecret-refresh", "revoke": true, "forget": true}"#)
    let after = try ProxyProcess(
      configuration.replacingOccurrences(of: "first-5ecret-refresh", with: "other-5ecret-refresh"), folder: folder)
    defer { after.stop() }
    #expect(try after.ask(server.url()).status == 200)
    #expect(try server.state().requests.map { $0.form["refresh_token"] } == ["other-5ecret-refresh"])
  }

  @Test func `a credential that a reload has replaced asks for no token any more, and leaves the record alone`() throws {
    let origin = try Origin()
    let server = try TokenServer(origin: origin)
    func answer(_ client: String, _ number: Int, seconds: Int) -> String {
      #"{"body": {"access_token": "\#(client)-5ecret-token-\#(number)", "token_type": "Bearer", "expires_in": \#(seconds), "#
        + #""refresh_token": "\#(client)-5ecret-refresh-\#(number)"}}"#
    }
    // The third is for a request without permission.
    let answers = [answer("old", 1, seconds: 3), answer("new", 1, seconds: 3600), answer("old", 2, seconds: 3600)]
    let tokens = #""old-5ecret-token-1", "new-5ecret-token-1", "old-5ecret-token-2""#
    try server.set(#"{"queue": [\#(answers.joined(separator: ", "))], "accept": [\#(tokens)]}"#)
    let folder = try Surroundings.newFolder()
    func text(_ client: String) -> String {
      """
      threads: 1
      limits: {upstream_connections: 1}
      timeouts: {connect: 30s, credential: 10s}
      token_store: {file: \(folder)/tokens.json}
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)", credential: api}
        - {match: other.test, origin: "http://127.0.0.1:\(origin.ports.http)", credential: api}
      credentials:
        api:
          allow_plaintext: true
          oauth2:
            grant: refresh_token
            token_url: \(server.tokenURL)
            client_id: \(client)
            client_secret: \(client)-5ecret-client
            refresh_token: \(client)-5ecret-refresh-0

      """
    }
    let other = server.url().replacingOccurrences(of: "api.test", with: "other.test")
    func expectRecord() throws {
      let record = try String(contentsOfFile: folder + "/tokens.json", encoding: .utf8)
      for (token, isThere) in [
        ("new-5ecret-refresh-1", true), ("old-5ecret-refresh-1", false), ("old-5ecret-refresh-2", false),
      ] {
        #expect(record.contains(Data(token.utf8).base64EncodedString()) == isThere, "\(token)")
      }
    }

    let proxy = try ProxyProcess(text("old"), folder: folder)
    defer { if proxy.process.ending == nil { proxy.stop() } }
    // The only connection is in use, and the old request waits for it.
    let (busy, waiting) = (try proxy.connect(), try proxy.connect())
    let name = Origin.newName()
    try origin.script(name, [.gate("on"), .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")])
    try busy.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
    try origin.await(name, gate: "on")
    let hasToken = Date()
    try waiting.send(ProxyProcess.request("GET", server.url("old")))
    #expect(try proxy.ask("http://unlisted.test/").status == 403)

    try proxy.reload("listen: \(proxy.addresses[0])\n" + text("new"))
    #expect(try proxy.ask(other).status == 200)
    try expectRecord()
    // Its token expires before it gets a connection.
    usleep(UInt32(max(0, 3.5 + hasToken.timeIntervalSinceNow) * 1_000_000))
    try origin.open("on", of: name)
    #expect(try busy.readAnswer().text == "ok")
    #expect(try waiting.readAnswer().status == 503)
    try expectRecord()
    #expect(
      try server.state().requests.compactMap { $0.form["refresh_token"] } == ["old-5ecret-refresh-0", "new-5ecret-refresh-0"])

    proxy.process.signal(SIGKILL)
    #expect(proxy.process.awaitEnd(seconds: 5) == .killed(signal: SIGKILL))
    let next = try ProxyProcess(text("new"), folder: folder)
    defer { next.stop() }
    #expect(try next.ask(other).status == 200)
    #expect(try server.state().requests.count == 2, "the record's access token is good")
  }
}
