import Credentials
import Crypto
import Testing

@testable import Signing

/// RFC 9421: known answers of its appendix B.2, and what the proxy adds.
@Suite struct HTTPSignatureTests {
  private static let created: Int64 = 1_618_884_473

  /// - Parameter parameters: of the signature; the RFC's examples have none for the algorithm.
  private func base(_ components: [String], _ parameters: String) throws -> (base: String, input: String) {
    try withRequest(RFC9421.request) { request in
      var base = SignatureBase()
      for name in components {
        if name == "@query-param" {
          base.add(Array(#""@query-param";name="Pet""#.utf8)) {
            $0 += Array("dog".utf8)
            return true
          }
          continue
        }
        let component = try #require(SignatureComponent(name))
        base.add(Array("\"\(name)\"".utf8)) { component.append(of: request, to: &$0) }
      }
      let input = base.finish(Array(parameters.utf8))
      return (text(base.text), text(input))
    }
  }

  @Test func `bases and inputs are those of appendix B-2`() throws {
    let rows: [(components: [String], parameters: String, base: String, input: String)] = [
      ([], #";created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd""#, RFC9421.b21Base, RFC9421.b21Input),
      (
        ["@authority", "content-digest", "@query-param"], #";created=1618884473;keyid="test-key-rsa-pss";tag="header-example""#,
        RFC9421.b22Base, RFC9421.b22Input
      ),
      (
        ["date", "@method", "@path", "@query", "@authority", "content-type", "content-digest", "content-length"],
        #";created=1618884473;keyid="test-key-rsa-pss""#, RFC9421.b23Base, RFC9421.b23Input
      ),
      (
        ["date", "@authority", "content-type"], #";created=1618884473;keyid="test-shared-secret""#, RFC9421.b25Base,
        RFC9421.b25Input
      ),
      (
        ["date", "@method", "@path", "@authority", "content-type", "content-length"],
        #";created=1618884473;keyid="test-key-ed25519""#, RFC9421.b26Base, RFC9421.b26Input
      ),
    ]
    for (index, row) in rows.enumerated() {
      let (base, input) = try base(row.components, row.parameters)
      #expect(base == row.base, "row \(index)")
      #expect(row.input.hasSuffix("=" + input), "row \(index)")
    }
  }

  @Test func `signatures of random algorithms are verified: B-2-1 to B-2-4`() throws {
    for (pem, algorithm, base, signature) in [
      (RFC9421.rsaPSS, HTTPSignaturePolicy.Algorithm.rsaPSS, RFC9421.b21Base, RFC9421.b21Signature),
      (RFC9421.rsaPSS, .rsaPSS, RFC9421.b22Base, RFC9421.b22Signature),
      (RFC9421.rsaPSS, .rsaPSS, RFC9421.b23Base, RFC9421.b23Signature),
      (RFC9421.p256, .ecdsaP256, RFC9421.b24Base, RFC9421.b24Signature),
    ] {
      let key = try PrivateKey(pem: Array(pem.utf8))
      #expect(HTTPSignaturePolicy.Algorithm.of(key) == [algorithm])
      let used = try #require(algorithm.jwsAlgorithm)
      #expect(key.verify(try #require(Base64.decode(signature.utf8)), of: Array(base.utf8), as: used))
      let signer = try MessageSigner(.privateKey(Secret(pem), passphrase: nil), algorithm)
      let own = try signer.sign(Array(base.utf8))
      #expect(key.verify(own, of: Array(base.utf8), as: used) && own.count <= signer.signatureLimit)
      #expect(!key.verify(own, of: Array(base.utf8) + [0], as: used))
    }
  }

  @Test func `signatures of the others are compared: B-2-5 and B-2-6`() throws {
    let secret = Secret(try #require(Base64.decode(RFC9421.secret.utf8)))
    for (key, algorithm, base, signature) in [
      (HTTPSignaturePolicy.Key.secret(secret), HTTPSignaturePolicy.Algorithm.hmac, RFC9421.b25Base, RFC9421.b25Signature),
      (.privateKey(Secret(RFC9421.ed25519), passphrase: nil), .ed25519, RFC9421.b26Base, RFC9421.b26Signature),
    ] {
      let signer = try MessageSigner(key, algorithm)
      for _ in 0..<2 { #expect(text(Base64.encode(try signer.sign(Array(base.utf8)))) == signature) }
    }
  }

  @Test func `all six algorithms sign what their keys verify`() throws {
    let keys: [(PrivateKey, [HTTPSignaturePolicy.Algorithm])] = [
      (try .generateEd25519(), [.ed25519]), (try .generateP256(), [.ecdsaP256]), (try .generateP384(), [.ecdsaP384]),
      (try .generateRSA(bits: 2048), [.rsaPSS, .rsaPKCS1]),
    ]
    let message = Array("\"@method\": GET".utf8)
    for (key, algorithms) in keys {
      #expect(HTTPSignaturePolicy.Algorithm.of(key) == algorithms)
      let policyKey = HTTPSignaturePolicy.Key.privateKey(Secret(try key.pem()), passphrase: nil)
      for algorithm in HTTPSignaturePolicy.Algorithm.allCases {
        guard algorithms.contains(algorithm), let used = algorithm.jwsAlgorithm else {
          #expect(throws: OpenSSLError.self) { try MessageSigner(policyKey, algorithm) }
          continue
        }
        #expect(key.verify(try MessageSigner(policyKey, algorithm).sign(message), of: message, as: used), "\(algorithm)")
      }
    }
    #expect(throws: OpenSSLError.self) { try MessageSigner(.secret(Secret("x")), .ed25519) }
  }

  // MARK: Whole fields

  private func policy(
    _ components: [String] = HTTPSignaturePolicy.defaultComponents, digest: HTTPSignaturePolicy.ContentDigest = .sha256,
    lifetime: Int? = nil, tag: String? = nil, keyID: String = "my-key", label: String = "sig1"
  ) -> HTTPSignaturePolicy {
    HTTPSignaturePolicy(
      keyID: keyID, key: .privateKey(Secret(RFC9421.ed25519), passphrase: nil), algorithm: .ed25519, components: components,
      contentDigest: digest, lifetime: lifetime, tag: tag, label: label)
  }

  /// The written lines, after the signature was verified.
  private func lines(
    _ policy: HTTPSignaturePolicy, _ head: String, body: String? = nil, nonce: String? = nil, isTLS: Bool = true
  ) throws -> [String] {
    let signing = try HTTPSigning(policy)
    return try withRequest(head, isTLS: isTLS, body: body.map { Array($0.utf8) }) { request in
      let nonce = nonce.map { Array($0.utf8) }
      let moment = HTTPSigning.Moment(created: Self.created)
      let fields = try signing.fields(for: request, at: moment, nonce: nonce)
      #expect(fields.count <= signing.sizeLimit)
      let lines = text(fields).components("\r\n")
      #expect(lines.last == "")
      let signature = try #require(lines.dropLast().last?.components(":").dropLast().last)
      let key = try PrivateKey(pem: Array(RFC9421.ed25519.utf8))
      #expect(
        key.verify(
          try #require(Base64.decode(signature.utf8)), of: signing.shownBase(for: request, at: moment, nonce: nonce), as: .edDSA
        ))
      return Array(lines.dropLast(2))
    }
  }

  @Test func `created, keyid and alg are always there; the others where they are configured`() throws {
    let head = "GET /a?b HTTP/1.1\nHost: api.test\nVia: x\n"
    #expect(
      try lines(policy(), head)
        == [#"Signature-Input: sig1=("@method" "@authority" "@path" "@query");created=1618884473;keyid="my-key";alg="ed25519""#]
    )
    #expect(
      try lines(policy(["@method"], lifetime: 300_000, tag: "a\"b\\", keyID: "k \"1\"", label: "*x.1"), head, nonce: "n-1")
        == [
          #"Signature-Input: *x.1=("@method");created=1618884473;expires=1618884773;keyid="k \"1\"";alg="ed25519";nonce="n-1";tag="a\"b\\""#
        ])
  }

  @Test func `a body is covered by its digest, whether it is listed or not`() throws {
    let head = "POST /a HTTP/1.1\nHost: api.test\nContent-Type: application/json\nContent-Length: 19\n"
    // RFC 9530 appendix D.
    let body = "{\"hello\": \"world\"}\n"
    let sha256 = "Content-Digest: sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:"
    let sha512 =
      "Content-Digest: sha-512=:YMAam51Jz/jOATT6/zvHrLVgOYTGFy1d6GJiOHTohq4yP+pgk4vf2aCsyRZOtw8MjkM7iw7yZ/WkppmM44T3qg==:"
    let end = #");created=1618884473;keyid="my-key";alg="ed25519""#
    #expect(
      try lines(policy(), head, body: body)
        == [sha256, #"Signature-Input: sig1=("@method" "@authority" "@path" "@query" "content-digest" "content-type""# + end])
    #expect(
      try lines(policy(["@path"], digest: .sha512), head, body: body)
        == [sha512, #"Signature-Input: sig1=("@path" "content-digest""# + end])
    // The app's own is signed as it stands.
    let own = "POST /a HTTP/1.1\nHost: api.test\ncontent-digest: sha-256=:AAAA:\n"
    #expect(try lines(policy(["@path"]), own) == [#"Signature-Input: sig1=("@path" "content-digest""# + end])
    #expect(try lines(policy(["@path"]), own, body: body) == [#"Signature-Input: sig1=("@path" "content-digest""# + end])
    // An empty one that was chunked has a digest, too.
    #expect(
      try lines(policy(["@path"]), head, body: "")[0]
        == "Content-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
  }

  @Test func `digests of RFC 9530 appendix D`() throws {
    for (body, digest) in [
      ("", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="), ("\"world\"}\n", "jjcgBDWNAtbYUXI37CVG3gRuGOAjaaDRGpIUFsdyepQ="),
    ] {
      Array(body.utf8).withUnsafeBytes {
        #expect(text(ContentDigest.value(of: $0, by: .sha256)) == "sha-256=:\(digest):", "\(body)")
      }
    }
  }

  @Test func `derived components are those of section 2-2`() throws {
    let rows: [(head: String, isTLS: Bool, values: [String])] = [
      (
        "POST /path?param=value&foo=bar&baz=batman HTTP/1.1\nHost: WWW.Example.com:443\n", true,
        [
          "POST", "www.example.com", "/path", "?param=value&foo=bar&baz=batman",
          "https://WWW.Example.com:443/path?param=value&foo=bar&baz=batman", "https", "/path?param=value&foo=bar&baz=batman",
        ]
      ),
      (
        "GET / HTTP/1.1\nHost: api.test:443\n", false,
        ["GET", "api.test:443", "/", "?", "http://api.test:443/", "http", "/"]
      ),
      ("OPTIONS * HTTP/1.1\nHost: [::1]:80\n", false, ["OPTIONS", "[::1]", "/", "?", "http://[::1]:80", "http", "*"]),
      ("GET /? HTTP/1.1\nHost: h\n", true, ["GET", "h", "/", "?", "https://h/?", "https", "/?"]),
    ]
    for row in rows {
      try withRequest(row.head, isTLS: row.isTLS) { request in
        for (name, value) in zip(HTTPSignaturePolicy.derivedComponents, row.values) {
          var found: [UInt8] = []
          let component = try #require(SignatureComponent(name))
          let isThere = component.append(of: request, to: &found)
          #expect(isThere)
          #expect(text(found) == value, "\(name)")
        }
      }
    }
    for name in ["@status", "@query-param", "@", ""] { #expect(SignatureComponent(name) == nil, "\(name)") }
  }

  @Test func `strings of structured fields are escaped, byte sequences padded`() {
    var output: [UInt8] = []
    StructuredField.append(string: #"a "b" \c"#.utf8, to: &output)
    StructuredField.append(bytes: [1], to: &output)
    StructuredField.append(bytes: [], to: &output)
    #expect(text(output) == #""a \"b\" \\c":AQ==:::"#)
  }
}

extension String {
  fileprivate func components(_ separator: String) -> [String] {
    split(separator: separator, omittingEmptySubsequences: false).map(String.init)
  }
}
