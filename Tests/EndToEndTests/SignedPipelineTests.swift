import Foundation
import Testing

/// Requests that come in one piece, for entries with different credentials: each is signed with its own.
@Suite struct SignedPipelineTests {
  @Test func `with two AWS keys each request has the signature of its own, bodies in between`() throws {
    let server = try AWSServer()
    try server.set(#"{"keys": {"AKIDEXAMPLE": ["shh-5ecret-key", null], "AKIDOTHER": ["other-5ecret", "tok-5ecret"]}}"#)
    let scope = "service: execute-api, region: eu-central-1"
    let text = """
      threads: 1
      upstreams:
        - {match: one.test, origin: "http://127.0.0.1:\(server.clear)", credential: one}
        - {match: two.test, origin: "http://127.0.0.1:\(server.clear)", credential: two}
      credentials:
        one: {allow_plaintext: true, sigv4: {\(scope), \(AWSServer.keys)}}
        two: {allow_plaintext: true, sigv4: {\(scope), access_key_id: AKIDOTHER, secret_access_key: other-5ecret, session_token: tok-5ecret}}

      """
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      let hosts = (0..<20).map { $0 % 3 == 0 ? "two" : "one" }
      let requests = hosts.enumerated().map { index, host in
        ProxyProcess.request(
          index % 2 == 0 ? "POST" : "GET", "http://\(host).test/\(index)", body: index % 2 == 0 ? "of \(index)" : nil)
      }
      try client.send(requests.joined())
      for _ in hosts { #expect(try client.readAnswer().status == 200) }
      let seen = try server.seen()
      #expect(seen.map(\.why) == hosts.map { _ in "" } && seen.map(\.target) == hosts.indices.map { "/\($0)" })
      for (request, host) in zip(seen, hosts) {
        let key = host == "one" ? "AKIDEXAMPLE" : "AKIDOTHER"
        #expect(request.all("Authorization").first?.contains("Credential=\(key)/") == true)
        #expect(request.all("X-Amz-Security-Token") == (host == "one" ? [] : ["tok-5ecret"]))
      }
    }
  }

  @Test func `with two kinds of Digest each origin's challenge is answered for its own user`() throws {
    let (one, two) = (try DigestServer(), try DigestServer(#"{"user": "other", "password": "other-5ecret"}"#))
    let text = """
      threads: 1
      upstreams:
        - {match: one.test, origin: "\(one.base)", credential: one}
        - {match: two.test, origin: "\(two.base)", credential: two}
      credentials:
        one: {allow_plaintext: true, digest: {username: svc, password: \(DigestServer.password)}}
        two: {allow_plaintext: true, digest: {username: other, password: other-5ecret}}

      """
    try withProxy(text) { proxy throws in
      let client = try proxy.connect()
      let hosts = ["one", "two", "one", "two", "two", "one"]
      try client.send(
        hosts.enumerated().map { ProxyProcess.request("POST", "http://\($1).test/api/\($0)", body: "of \($0)") }.joined())
      for _ in hosts { #expect(try client.readAnswer().status == 200) }
      for state in [try one.state(), try two.state()] {
        #expect(state.whys == ["none", "good", "good", "good"] && state.faults == [])
      }
    }
  }
}
