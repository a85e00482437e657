import Foundation
import Testing

/// Credentials that are a JWT which the proxy signs itself, verified by PyJWT.
@Suite struct JWTTests {
  private static let url = "http://api.test/jwt/x"

  @Test func `every algorithm signs what others verify, and one JWT serves all requests and loops`() throws {
    let server = try SigningServer()
    let secret = "s3cr3t-5ecret-of-more-than-64-bytes-" + String(repeating: "x", count: 64)
    let cases = [
      ("RSA:2048", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]), ("EC:P-256", ["ES256"]), ("EC:P-384", ["ES384"]),
      ("ed25519", ["EdDSA"]), ("", ["HS256", "HS384", "HS512"]),
    ]
    for (kind, algorithms) in cases {
      let pair = kind.isEmpty ? nil : try server.keyPair(kind, name: kind)
      for algorithm in algorithms {
        try server.set(["keys": ["k1": pair?.publicKey ?? secret], "forget": true])
        let key = pair.map { "private_key: {file: \"\($0.file)\"}" } ?? "secret: \(secret)"
        let text = server.configuration(
          "jwt: {\(key), algorithm: \(algorithm), key_id: k1, issuer: me, claims: {groups: [a, b]}}", top: "threads: 2")
        try withProxy(text) { proxy throws in
          for _ in 0..<4 { #expect(try proxy.ask(Self.url, ["Authorization: Bearer mine"]).status == 200, "\(algorithm)") }
          let uses = try server.uses()
          #expect(uses.map(\.why) == ["", "", "", ""], "\(algorithm)")
          #expect(Set(uses.map(\.jwt)).count == 1, "\(algorithm)")
          #expect(uses[0].claims == #"{"groups": ["a", "b"], "iss": "me"}"#)
          #expect(uses[0].exp - uses[0].iat == 600)
          #expect(abs(uses[0].iat + 60 - Int(Date().timeIntervalSince1970)) < 10)
          #expect(uses.allSatisfy { $0.all("Authorization").count == 1 })
        }
      }
    }
  }

  @Test func `a refused one is replaced after a fifth of its lifetime only; until then the refusal is relayed`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    try server.set(["keys": ["k1": pair.publicKey]])
    let text = server.configuration(
      "jwt: {private_key: {file: \(pair.file)}, key_id: k1, lifetime: 10s, backdate: 0s}", top: "threads: 1")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask(Self.url).status == 200)
      try server.set(["revoke": true])
      let young = try proxy.ask(Self.url)
      #expect(young.status == 401)
      #expect(young.proxyDetails == "not retried, the credential has not changed")
      // Its fifth: 2 s.
      #expect(try eventually { try proxy.ask("POST", "http://api.test/jwt/other", body: "kept").status == 200 })
      let uses = try server.uses()
      #expect(Set(uses.map(\.jwt)).count == 2)
      #expect(uses.last?.length == 4 && uses.dropLast().last?.why == "revoked")
    }
  }

  @Test func `the clock of one origin is corrected, for that origin alone`() throws {
    let server = try SigningServer()
    let other = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    for (one, skew) in [(server, -600), (other, 0)] { try one.set(["keys": ["k1": pair.publicKey], "skew": skew]) }
    let text = """
      upstreams:
        - {match: api.test, origin: "\(server.base)", credential: api}
        - {match: other.test, origin: "\(other.base)", credential: api}
      credentials:
        api: {allow_plaintext: true, jwt: {private_key: {file: \(pair.file)}, key_id: k1}}
      threads: 2

      """
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("http://other.test/jwt").status == 200)
      #expect(try proxy.ask("POST", Self.url, body: "kept").status == 200)
      for _ in 0..<4 {
        #expect(try proxy.ask(Self.url).status == 200)
        #expect(try proxy.ask("http://other.test/jwt").status == 200)
      }
      let uses = try server.uses()
      #expect(uses.map(\.why) == ["time"] + Array(repeating: "", count: 5))
      #expect(Set(uses.dropFirst().map(\.jwt)).count == 1)
      #expect(try Set(other.uses().map(\.jwt)).count == 1)
      #expect(try abs(uses[1].iat + 600 - other.uses()[0].iat) < 10)
    }
  }

  @Test func `every request that a wrong clock had refused is sent again, not the first alone`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    try server.set(["keys": ["k1": pair.publicKey], "skew": -600, "gather": 8])
    let text = server.configuration(
      "jwt: {private_key: {file: \(pair.file)}, key_id: k1}", top: "threads: 2\nadmin: 127.0.0.1:0")
    try withProxy(text) { proxy throws in
      let clients = try (0..<8).map { _ in try proxy.connect() }
      for client in clients { try client.send(ProxyProcess.request("POST", Self.url, body: "kept")) }
      #expect(try clients.map { try $0.readAnswer().status } == Array(repeating: 200, count: 8))
      let whys = try server.uses().map(\.why)
      #expect(whys == Array(repeating: "time", count: 8) + Array(repeating: "", count: 8))
      let skew = try #require(try proxy.metric(#"authproxy_clock_skew_seconds{upstream="api.test"}"#))
      #expect(abs(skew + 600) < 10)
    }
  }

  @Test func `a clock that is hours off is not followed further than 15 minutes`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    try server.set(["keys": ["k1": pair.publicKey], "skew": 7200])
    try withProxy(server.configuration("jwt: {private_key: {file: \(pair.file)}, key_id: k1}", top: "threads: 1")) {
      proxy throws in
      let answer = try proxy.ask(Self.url)
      #expect(answer.status == 401)
      #expect(try proxy.ask(Self.url).status == 401)
      let uses = try server.uses()
      #expect(Set(uses.map(\.jwt)).count == 2)
      #expect(abs(uses[1].iat - uses[0].iat - 900) < 10)
    }
  }

  @Test func `with preset apns a 403 with one of two reasons refuses it, and it is not replaced within 20 minutes`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    try server.set(["keys": ["ABC123": pair.publicKey]])
    let text = server.configuration(
      "jwt: {preset: apns, private_key: {file: \(pair.file)}, key_id: ABC123, issuer: TEAM}", top: "threads: 1")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("POST", Self.url, body: "{}").status == 200)
      for (reason, details) in [
        ("ExpiredProviderToken", "not retried, the credential has not changed"), ("BadDeviceToken", nil),
      ] as [(String, String?)] {
        try server.set(["apns": reason, "revoke": true])
        let answer = try proxy.ask("POST", "http://api.test/jwt/\(reason)", body: "{}")
        #expect(answer.status == 403, "\(reason)")
        #expect(answer.text == #"{"reason": "\#(reason)"}"#)
        #expect(answer.proxyDetails == details, "\(reason)")
      }
      let uses = try server.uses()
      #expect(Set(uses.map(\.jwt)).count == 1)
      #expect(uses.map(\.exp) == [0, 0, 0])
    }
  }

  @Test func `with preset apns such a 403 of a POST reads the key again, and a new one answers the POST itself`() throws {
    let server = try SigningServer()
    let one = try server.keyPair("EC:P-256")
    let two = try server.keyPair("EC:P-256", name: "two")
    try server.set(["keys": ["ABC123": one.publicKey]])
    let text = server.configuration(
      "jwt: {preset: apns, private_key: {file: \(one.file)}, key_id: ABC123, issuer: TEAM}",
      top: "threads: 2\nwatch_files: off")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask("POST", Self.url, body: "{}").status == 200)
      try ProxyProcess.write(try String(contentsOfFile: two.file, encoding: .utf8), to: one.file)
      try server.set(["keys": ["ABC123": two.publicKey], "apns": "InvalidProviderToken"])
      for _ in 0..<3 { #expect(try proxy.ask("POST", Self.url, body: "{}").status == 200) }
      let uses = try server.uses()
      #expect(uses.count == 5 && uses.count(where: { $0.why != "" }) == 1)
      #expect(uses.allSatisfy { $0.length == 2 })
    }
  }

  @Test func `a new key in the file mints anew for the refused request itself`() throws {
    let server = try SigningServer()
    let one = try server.keyPair("EC:P-256")
    let two = try server.keyPair("EC:P-256", name: "two")
    try server.set(["keys": ["k1": one.publicKey]])
    let text = server.configuration(
      "jwt: {private_key: {file: \(one.file)}, key_id: k1}", top: "threads: 2\nwatch_files: off")
    try withProxy(text) { proxy throws in
      #expect(try proxy.ask(Self.url).status == 200)
      try ProxyProcess.write(try String(contentsOfFile: two.file, encoding: .utf8), to: one.file)
      try server.set(["keys": ["k1": two.publicKey]])
      for _ in 0..<4 { #expect(try proxy.ask("POST", Self.url, body: "kept").status == 200) }
      let uses = try server.uses()
      #expect(uses.count(where: { $0.why.contains("InvalidSignature") }) == 1)
      #expect(Set(uses.map(\.jwt)).count == 2)
    }
  }

  @Test func `field and format are free; keep leaves the app's own, reject is 403`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("ed25519")
    let jwt = "jwt: {private_key: {file: \(pair.file)}, field: X-Token, format: \"v1 {jwt}\"}"
    try withProxy(server.configuration(jwt, entry: ", client_authorization: keep")) { proxy throws in
      _ = try proxy.ask(Self.url)
      _ = try proxy.ask(Self.url, ["x-token: mine"])
      let uses = try server.uses()
      #expect(uses[0].all("X-Token").count == 1 && uses[0].all("X-Token")[0].hasPrefix("v1 eyJ"))
      #expect(uses[1].all("X-Token") == ["mine"])
    }
    try withProxy(server.configuration(jwt, entry: ", client_authorization: reject")) { proxy throws in
      #expect(try proxy.ask(Self.url, ["X-Token: mine"]).status == 403)
    }
  }
}
