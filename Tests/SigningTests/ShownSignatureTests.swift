import Credentials
import Crypto
import Testing

@testable import Signing

@Suite struct ShownSignatureTests {
  @Test func `a signature base is shown with a hidden nonce`() throws {
    let policy = HTTPSignaturePolicy(
      keyID: "k", key: .secret(Secret("s3cr3t")), algorithm: .hmac, components: ["@method", "@target-uri"], sendsNonce: true)
    let base = try #require(
      try ShownSignature.base(policy, method: "GET", target: "/a?b", host: "api.test", isTLS: true, now: 5))
    #expect(
      text(base) == """
        "@method": GET
        "@target-uri": https://api.test/a?b
        "@signature-params": ("@method" "@target-uri");created=5;keyid="k";alg="hmac-sha256";nonce="***"
        """)
  }

  @Test func `a message is shown with hidden values`() throws {
    let policy = HMACPolicy(
      key: Secret("s3cr3t"), message: try MessageTemplate("{timestamp}{method}{target}{nonce}{own}", values: ["own"]),
      values: [.init(name: "own", value: Secret("s3cr3t"))],
      fields: [.init(name: "X", value: try MessageTemplate("{signature}"))])
    let message = try #require(
      try ShownSignature.message(policy, method: "GET", target: "/a?b", host: "api.test", isTLS: true, now: 5))
    #expect(text(message) == "5GET/a?b******")
  }
}
