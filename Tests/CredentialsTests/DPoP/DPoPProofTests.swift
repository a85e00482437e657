import Crypto
import JSON
import Testing

@testable import Credentials

/// The example key of RFC 9449.
private let x = "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs"
private let y = "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"

@Suite("A DPoP proof")
struct DPoPProofTests {
  @Test("is byte for byte what RFC 9449 signs in its examples, and their signatures are verified")
  func knownAnswers() throws {
    let header = Base64.encodeURL(DPoPKey.header(x: bytes(x), y: bytes(y)))
    let token = Secret("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU")
    #expect(text(DPoPKey.hash(of: token)) == "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo")
    #expect(DPoPKey.thumbprint(x: bytes(x), y: bytes(y)) == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    let key = try publicKey(x: x, y: y)
    for (proof, signature) in [
      (
        // Figure 2.
        DPoPProof(
          identifier: bytes("-BwC3ESc6acc2lTc"), method: bytes("POST"), uri: bytes("https://server.example.com/token"),
          issuedAt: 1_562_262_616, tokenHash: nil, nonce: nil),
        "2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
      ),
      (
        // Figure 12.
        DPoPProof(
          identifier: bytes("e1j3V_bKic8-LAEB"), method: bytes("GET"),
          uri: bytes("https://resource.example.org/protectedresource"), issuedAt: 1_562_262_618,
          tokenHash: DPoPKey.hash(of: token), nonce: nil),
        "2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
      ),
    ] {
      let signed = try #require(Base64.decodeURL(signature.utf8))
      #expect(key.verifyES256(signed, of: proof.signingInput(header)))
    }
  }

  @Test("has type, algorithm, key, and claims; its signature fits; no two have one identifier")
  func whole() throws {
    let key = try DPoPKey.generated()
    let signer = try key.signer()
    var identifiers: Set<String> = []
    for number in 0..<200 {
      let nonce = number % 2 == 0 ? bytes("n\(number)") : nil
      let hash = number % 3 == 0 ? DPoPKey.hash(of: Secret("t")) : nil
      let proof = try DPoPProof(
        method: "PATCH".utf8, uri: bytes("https://api.example.com:8443/a/\"b\\c?q=1#f"), wall: 1_800_000_000, tokenHash: hash,
        nonce: nonce)
      let signed = try proof.signed(by: signer, of: key)
      #expect(signed.count <= DPoPProof.sizeLimit(method: 5, uri: 42))
      let read = try ReadProof(text(signed))
      #expect(read.header["typ"] == "dpop+jwt" && read.header["alg"] == "ES256")
      #expect(read.header["jwk"]?["kty"] == "EC" && read.header["jwk"]?["crv"] == "P-256")
      #expect(read.header["jwk"]?["d"] == nil)
      #expect(read.thumbprint == key.thumbprint)
      #expect(read.method == "PATCH" && read.uri == "https://api.example.com:8443/a/\"b\\c")
      #expect(read.claims["iat"]?.integer == 1_800_000_000)
      #expect(read.claims["ath"]?.string == hash.map(text))
      #expect(read.nonce == nonce.map(text))
      #expect(Base64.decodeURL(read.identifier.utf8)?.count == 16)
      identifiers.insert(read.identifier)
    }
    #expect(identifiers.count == 200)
  }

  @Test("is never larger than was announced")
  func size() throws {
    let key = try DPoPKey.generated()
    let signer = try key.signer()
    for (method, uri, nonce) in [("GET", "", 0), ("M", "\"\\", 1), ("PROPFIND", String(repeating: "\\", count: 30_000), 2_048)]
    {
      let proof = try DPoPProof(
        method: method.utf8, uri: bytes(uri), wall: .max, tokenHash: DPoPKey.hash(of: Secret("t")),
        nonce: nonce == 0 ? nil : [UInt8](repeating: 0x7e, count: nonce))
      let signed = try proof.signed(by: signer, of: key)
      #expect(signed.count <= DPoPProof.sizeLimit(method: method.utf8.count, uri: uri.utf8.count) - 8)
    }
  }

  @Test("takes a nonce of visible ASCII only, and of bounded length")
  func nonces() {
    for (nonce, isValid) in [
      ("eyJ7S_zG.eyJH0-Z.HX4w-7v", true), ("!#[]~", true), (String(repeating: "n", count: 2_048), true), ("", false),
      (String(repeating: "n", count: 2_049), false), ("a b", false), ("a\tb", false), ("a\"b", false), ("a\\b", false),
      ("a\u{7f}", false), ("a\u{0}", false), ("\u{e4}", false), ("a\r\nX: 1", false),
    ] {
      #expect(DPoPNonce.isValid(bytes(nonce)) == isValid, "\(nonce.prefix(20))")
    }
  }

  @Test("a key is stored and read again; its description shows no secret; other keys are refused")
  func keys() throws {
    let key = try DPoPKey.generated()
    let stored = try key.stored()
    #expect(try DPoPKey(stored: stored) == key)
    #expect(try DPoPKey.generated() != key)
    #expect("\(key)" == "<DPoP key \(key.thumbprint)>")
    #expect(throws: OpenSSLError.self) { try DPoPKey(.generateRSA(bits: 2048)) }
    #expect(throws: OpenSSLError.self) { try DPoPKey(stored: Secret("nonsense")) }
  }

  @Test(
    "a server asks for its nonce in a DPoP challenge only",
    arguments: [
      (#"DPoP error="use_dpop_nonce", error_description="Resource server requires nonce in DPoP proof""#, true),
      (#"Bearer realm="x", dpop algs="ES256", error=use_dpop_nonce"#, true), (#"DPoP algs="ES256""#, false),
      (#"Bearer error="use_dpop_nonce""#, false), (#"DPoP error="invalid_token""#, false),
      (#"Basic realm="DPoP error=\"use_dpop_nonce\"""#, false), ("", false),
    ])
  func challenges(field: String, asks: Bool) {
    #expect(TokenChallenge.asksForNonce(bytes(field)) == asks)
  }

  @Test("a lack of scope in a DPoP challenge is one")
  func scope() {
    #expect(TokenChallenge.saysInsufficientScope(bytes(#"DPoP error="insufficient_scope", scope="a""#)))
    #expect(!TokenChallenge.saysInsufficientScope(bytes(#"DPoP error="invalid_token""#)))
  }
}
