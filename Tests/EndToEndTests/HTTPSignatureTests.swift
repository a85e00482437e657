import Foundation
import Testing

/// Signatures of RFC 9421, verified by http-message-signatures.
@Suite struct HTTPSignatureTests {
  private static let body = #"{"hello": "world"}"#

  @Test func `every algorithm signs what others verify, with and without a body`() throws {
    let server = try SigningServer()
    let secret = "s3cr3t-5ecret-of-some-bytes"
    let cases = [
      ("ed25519", ["ed25519"]), ("EC:P-256", ["ecdsa-p256-sha256"]), ("EC:P-384", ["ecdsa-p384-sha384"]),
      ("RSA:2048", ["rsa-pss-sha512", "rsa-v1_5-sha256"]), ("", ["hmac-sha256"]),
    ]
    for (kind, algorithms) in cases {
      let pair = kind.isEmpty ? nil : try server.keyPair(kind, name: kind)
      for algorithm in algorithms {
        try server.set(["keys": ["my key": pair?.publicKey ?? secret], "forget": true])
        let key = pair.map { "private_key: {file: \"\($0.file)\"}" } ?? "secret: \(secret)"
        let text = server.configuration(
          "http_signature: {key_id: my key, \(key), algorithm: \(algorithm), expires: 5m, nonce: true, tag: web-bot-auth}")
        try withProxy(text) { proxy throws in
          let fields = ["Signature: sig1=:AAAA:", "Signature-Input: sig1=()", "Content-Type: application/json"]
          #expect(try proxy.ask("http://API.test:80/signed", fields).status == 200, "\(algorithm)")
          #expect(
            try proxy.ask("POST", "http://api.test/signed?a=%20b&c", fields, body: Self.body).status == 200, "\(algorithm)")
          let uses = try server.uses()
          #expect(uses.map(\.why) == ["", ""], "\(algorithm)")
          #expect(uses.map(\.kid) == ["my key", "my key"])
          #expect(uses[0].covered == "@method @authority @path @query content-type")
          #expect(uses[1].covered == "@method @authority @path @query content-digest content-type")
          #expect(uses.allSatisfy { $0.all("Signature").count == 1 && $0.all("Signature-Input").count == 1 })
          #expect(uses.allSatisfy { $0.all("Signature-Input")[0].contains(#";tag="web-bot-auth""#) })
        }
      }
    }
  }

  @Test func `all derived components, and a field of several lines, are verified`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("ed25519")
    try server.set(["keys": ["k": pair.publicKey]])
    let components =
      #"["@target-uri", "@scheme", "@request-target", "@authority", "@method", "@path", "@query", X-Part, X-None]"#
    let text = server.configuration(
      "http_signature: {key_id: k, private_key: {file: \(pair.file)}, components: \(components), content_digest: sha-512}")
    try withProxy(text) { proxy throws in
      let fields = ["X-Part: one", "X-Other: x", "x-part:   two  "]
      #expect(try proxy.ask("PUT", "http://api.test/signed/%7Ea?b=c&d", fields, body: "x").status == 200)
      #expect(try proxy.ask("http://api.test/signed", fields).status == 200)
      let uses = try server.uses()
      #expect(uses.map(\.why) == ["", ""])
      let all = "@target-uri @scheme @request-target @authority @method @path @query x-part"
      #expect(uses.map(\.covered) == [all + " content-digest", all])
      #expect(uses[0].all("Content-Digest")[0].hasPrefix("sha-512=:"))
    }
  }

  @Test func `an app's own digest is signed as it stands, and its body streams; another one is read whole`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("EC:P-256")
    try server.set(["keys": ["k": pair.publicKey]])
    let text = server.configuration(
      "http_signature: {key_id: k, private_key: {file: \(pair.file)}}", top: "limits: {hashed_body: 1KiB}")
    try withProxy(text) { proxy throws in
      let digest = "Content-Digest: sha-256=:8wE6bhoHRFhtZI+TQxzZyXCRdLfnPxJNILQ1CRBsGu0=:"
      let client = try proxy.connect()
      let chunks = "5\r\nhello\r\n1000\r\n\(String(repeating: "x", count: 4096))\r\n0\r\n\r\n"
      try client.send(
        "POST http://api.test/signed HTTP/1.1\r\nHost: api.test\r\n\(digest)\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
      _ = try client.readAnswer()
      expectOwnAnswer(
        try proxy.ask("POST", "http://api.test/signed", body: String(repeating: "x", count: 1025)), 413, "http_request_error")
      #expect(try proxy.ask("POST", "http://api.test/signed", body: String(repeating: "x", count: 1024)).status == 200)
      let uses = try server.uses()
      #expect(uses.map(\.length) == [4101, 1024])
      // The digest is not the body's: the origin compares, as this one does.
      #expect(uses[0].why.contains("igest") && uses[0].all("Content-Digest").count == 1)
      #expect(uses[0].all("Transfer-Encoding") == ["chunked"])
      #expect(uses[1].why == "" && uses[1].all("Content-Length") == ["1024"])
    }
  }

  @Test func `an app's Content-Digest that nobody could compare is replaced, and the body is hashed`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("ed25519")
    try server.set(["keys": ["k": pair.publicKey]])
    let own = [
      [""], ["x"], ["sha-256"], ["sha-256=abc"], ["sha-256=\"YWJj\""], ["md5=:XUFAKrxLKna5cZ2REBfFkg==:"],
      ["x=:YQ==:", "y=:Yg==:"], ["sha-256=:YQ==:, ,"], ["sha-256=:YQ==: x"], ["SHA-256=:YQ==:"],
    ]
    try withProxy(server.configuration("http_signature: {key_id: k, private_key: {file: \(pair.file)}}")) { proxy throws in
      for values in own {
        let fields = ["X-Before: 1"] + values.map { "content-digest: \($0)" } + ["X-Behind: 2"]
        #expect(try proxy.ask("POST", "http://api.test/signed", fields, body: "hello").status == 200, "\(values)")
      }
      for use in try server.uses() {
        #expect(use.all("Content-Digest") == ["sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"])
        #expect(use.why == "" && use.all("X-Before") == ["1"] && use.all("X-Behind") == ["2"])
      }
    }
  }

  @Test func `explain shows the signature base, and no key`() throws {
    let server = try SigningServer()
    let text = server.configuration(
      "http_signature: {key_id: my-key, secret: shh-5ecret-key-of-some-bytes, nonce: true, tag: t}", entry: "")
    let shown = try explained(text, "POST", "http://API.test:80/a%20b?c=d")
    #expect(
      shown.contains(
        "\n  \"@method\": POST\n  \"@authority\": 127.0.0.1:\(server.port)\n  \"@path\": /a%20b\n  \"@query\": ?c=d\n"
          + "  \"@signature-params\": (\"@method\" \"@authority\" \"@path\" \"@query\");created="), "\(shown)")
    #expect(shown.contains(";keyid=\"my-key\";alg=\"hmac-sha256\";nonce=\"***\";tag=\"t\"\n"), "\(shown)")
    #expect(!shown.contains("5ecret"))
  }

  @Test func `keep passes an app's signature untouched; reject is 403`() throws {
    let server = try SigningServer()
    let pair = try server.keyPair("ed25519")
    let signature = "http_signature: {key_id: k, private_key: {file: \(pair.file)}}"
    let own = ["Signature: app=:AAAA:", "Signature-Input: app=(\"@method\");created=1"]
    try withProxy(server.configuration(signature, entry: ", client_authorization: keep")) { proxy throws in
      _ = try proxy.ask("POST", "http://api.test/signed", own, body: "x")
      let use = try #require(try server.uses().first)
      #expect(use.all("Signature") == ["app=:AAAA:"] && use.all("Content-Digest").isEmpty)
      #expect(use.all("Signature-Input") == ["app=(\"@method\");created=1"])
    }
    try withProxy(server.configuration(signature, entry: ", client_authorization: reject")) { proxy throws in
      for field in own { expectOwnAnswer(try proxy.ask("http://api.test/signed", [field]), 403, "http_request_denied") }
    }
  }
}
