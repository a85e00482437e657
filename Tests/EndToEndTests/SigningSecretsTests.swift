import Foundation
import Testing

/// No output has a key, a JWT or a signature. (Every other test looks for marked secrets, too: see `ProxyProcess.stop`.)
@Suite struct SigningSecretsTests {
  @Test func `at level trace no log, page, check or explain has a key, a JWT, a nonce or a signature`() throws {
    let server = try SigningServer(["venues": ["one": "key-5ecret"]])
    let pair = try server.keyPair("EC:P-256")
    let long = "a-long-5ecret-of-more-than-thirty-two-bytes"
    try server.set(["keys": ["k1": pair.publicKey, "k2": long, "k3": pair.publicKey]])
    let text = """
      admin: 127.0.0.1:0
      log: {level: trace}
      upstreams:
        - {match: one.test, origin: "\(server.base)", credential: one}
        - {match: two.test, origin: "\(server.base)", credential: two}
        - {match: three.test, origin: "\(server.base)", credential: three}
        - {match: four.test, origin: "\(server.base)", credential: four}
      credentials:
        one: {allow_plaintext: true, jwt: {private_key: {file: \(pair.file)}, key_id: k1}}
        two: {allow_plaintext: true, jwt: {secret: \(long), key_id: k2}}
        three: {allow_plaintext: true, http_signature: {private_key: {file: \(pair.file)}, key_id: k3, nonce: true}}
        four:
          allow_plaintext: true
          hmac:
            key: key-5ecret
            algorithm: sha512
            message: "{timestamp}{method}{target}{nonce}{body}"
            timestamp: unix_ms
            values: {pass: pass-key-5ecret}
            fields: {X-Key: one, X-Time: "{timestamp}", X-Nonce: "{nonce}", X-Pass: "{pass}", X-Sign: "{signature}"}

      """
    let proxy = try ProxyProcess(text)
    let paths = ["one": "jwt", "two": "jwt", "three": "signed", "four": "hmac"]
    var said: [String] = []
    for (name, path) in paths {
      #expect(try proxy.ask("POST", "http://\(name).test/\(path)", body: "x").status == 200, "\(name)")
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "GET", "http://\(name).test/\(path)"])
      said.append(explained.output + explained.errors)
    }
    try server.set(["venues": [:], "keys": [:]])
    for (name, path) in paths {
      #expect(try proxy.ask("POST", "http://\(name).test/\(path)", body: "x").status == 401, "\(name)")
    }
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", proxy.configurationPath])
    said += [check.output, check.errors]
    let words = check.output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    for kind in [
      "jwt ES256, key ID k1, key sha256/", "jwt HS256, key ID k2", "http_signature ecdsa-p256-sha256, key ID k3", "hmac sha512",
    ] {
      #expect(words.contains(kind), "\(check.output)")
    }
    for page in ["metrics", "status"] { said.append(try proxy.admin(page).text) }
    proxy.process.signal(SIGTERM)
    #expect(proxy.process.awaitEnd(seconds: 10) == .exited(0))
    said += proxy.process.lines + [proxy.process.errors]
    var secrets = [long, "key-5ecret", "5ecret"]
    let pem = try String(contentsOfFile: pair.file, encoding: .utf8)
    secrets += pem.split(separator: "\n").filter { !$0.hasPrefix("-") && $0.count > 20 }.map(String.init)
    for use in try server.uses() {
      for name in ["Authorization", "Signature", "X-Sign", "X-Nonce"] {
        secrets += use.all(name).map { $0.replacingOccurrences(of: "Bearer ", with: "") }
      }
      secrets += use.all("Signature-Input").compactMap { $0.components(separatedBy: "nonce=\"").dropFirst().first }
    }
    #expect(secrets.count >= 18)
    for text in said {
      for secret in secrets where text.contains(secret) { Issue.record("a secret in: \(text.prefix(400))") }
    }
  }
}
