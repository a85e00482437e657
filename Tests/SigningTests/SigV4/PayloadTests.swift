import Credentials
import Testing

@testable import Signing

@Suite("A body's place in a signature")
struct PayloadTests {
  private static let hash = String(repeating: "aB", count: 32)

  private func payload(
    _ declared: String?, _ policy: SigV4Policy.Payload = .auto, service: String = "s3", isTLS: Bool = true, length: Int64? = 5,
    hasBody: Bool = true
  ) -> String {
    let declared = declared.map { Array($0.utf8).withUnsafeBytes { DeclaredPayload($0) } } ?? DeclaredPayload(nil)
    do throws(SigV4Payload.Problem) {
      return
        "\(try SigV4Payload(declared, policy, service: Array(service.utf8), isTLS: isTLS, hasBody: hasBody, length: length))"
        .split(separator: "(").first.map(String.init) ?? ""
    } catch { return "\(error)!" }
  }

  @Test("is what the app declared")
  func declared() {
    for policy in [SigV4Policy.Payload.auto, .signed, .unsigned] {
      for service in ["s3", "execute-api"] {
        #expect(payload(Self.hash, policy, service: service) == "declared")
        #expect(payload(Self.hash, policy, service: service, length: nil) == "declared")
        #expect(payload("STREAMING-AWS4-HMAC-SHA256-PAYLOAD", policy, service: service) == "signedStream")
        #expect(payload("STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", policy, service: service) == "signedStream")
      }
    }
    #expect(payload("UNSIGNED-PAYLOAD") == "unsigned")
    #expect(payload("UNSIGNED-PAYLOAD", isTLS: false, hasBody: false) == "unsigned")
    #expect(payload("UNSIGNED-PAYLOAD", service: "vpc-lattice-svcs") == "unsigned")
    #expect(payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER", isTLS: false) == "unsignedStream")
  }

  @Test("is unsigned or hashed where the app declared nothing")
  func undeclared() {
    #expect(payload(nil) == "unsigned")
    #expect(payload(nil, length: nil) == "hashed")
    #expect(payload(nil, isTLS: false) == "hashed")
    #expect(payload(nil, service: "execute-api") == "hashed")
    #expect(payload(nil, .unsigned, isTLS: false, length: nil) == "unsigned")
    #expect(payload(nil, .unsigned, service: "execute-api") == "hashed")
    #expect(payload(nil, .signed) == "hashed")
    #expect(payload(nil, .signed, hasBody: false) == "none")
    #expect(payload(nil, hasBody: false) == "none")
    #expect(payload(nil, service: "iam", hasBody: false) == "none")
  }

  @Test("is hashed with `signed` where the app left it unsigned")
  func signed() {
    #expect(payload("UNSIGNED-PAYLOAD", .signed) == "hashed")
    #expect(payload("UNSIGNED-PAYLOAD", .signed, hasBody: false) == "none")
    #expect(payload("STREAMING-UNSIGNED-PAYLOAD-TRAILER", .signed) == "unsignedStream!")
  }

  @Test("is refused in other forms")
  func other() {
    for form in [
      "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER",
      "STREAMING-AWS4-HMAC-SHA256-EVENTS", "unsigned-payload", "", "abc", String(Self.hash.dropLast()), Self.hash + "0",
      String(Self.hash.dropLast()) + "g", "UNSIGNED-PAYLOAD, UNSIGNED-PAYLOAD",
    ] {
      #expect(payload(form) == "notSupported!", "\(form)")
      #expect(payload(form, .signed) == "notSupported!", "\(form)")
    }
  }

  @Test("is written as it is signed")
  func lines() {
    func line(_ payload: SigV4Payload, _ body: String = "") -> String {
      String(decoding: Array(body.utf8).withUnsafeBytes { payload.line(body: $0) }, as: UTF8.self)
    }
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    #expect(line(.none) == empty)
    #expect(line(.hashed) == empty)
    // FIPS 180-2, appendix B.1.
    #expect(line(.hashed, "abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(line(.declared(Array("x".utf8))) == "x")
    #expect(line(.unsigned) == "UNSIGNED-PAYLOAD")
    #expect(line(.unsignedStream) == "STREAMING-UNSIGNED-PAYLOAD-TRAILER")
    #expect(line(.signedStream(trailer: false)) == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD")
    #expect(line(.signedStream(trailer: true)) == "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER")
  }
}
