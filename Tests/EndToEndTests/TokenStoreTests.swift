import Foundation
import Testing

/// Rotated refresh tokens outlive the process, however it ends.
@Suite struct TokenStoreTests {
  private func configuration(_ server: TokenServer, _ store: String, key: String? = nil) throws -> String {
    try server.configuration(
      "grant: refresh_token", "refresh_token: first-5ecret-refresh",
      top: "token_store: {file: \(store)\(key.map { ", key: \($0)" } ?? "")}\nthreads: 1")
  }

  @Test func `a hundred kills at any instant lock nobody out: what was used is on disk`() throws {
    // Nobody can help a kill between the server's commit and our reading; so this server has patience with the old token until
    // it sees the new one in use, and none from then on.
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
      // From before the token request to after the answer's use, and a few right in the middle of writing.
      if round % 2 == 0 { _ = try? eventually(seconds: 0.5) { try server.state().issued.count > issued } }
      usleep(UInt32.random(in: 0...(round % 2 == 0 ? 4_000 : 40_000)))
      proxy.process.signal(SIGKILL)
      #expect(proxy.process.awaitEnd(seconds: 5) == .killed(signal: SIGKILL))
      // A request that a dead process has sent may still be carried out: nobody can help that.
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
      // The access token of the record is used again: a restart needs no refresh.
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
}
