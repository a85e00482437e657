import Crypto
import Testing

@testable import Signing

/// A request of the AWS signature test suite, and what comes of it.
struct AWSVector: Sendable, CustomStringConvertible {
  let name: String
  let normalized: Bool
  let signsBody: Bool
  let token: String?
  let request: String
  let canonical: String
  let hash: String
  let signature: String

  init(
    _ name: String, normalized: Bool = true, signsBody: Bool = false, token: String? = nil, request: String, canonical: String,
    hash: String, signature: String
  ) {
    self.name = name
    self.normalized = normalized
    self.signsBody = signsBody
    self.token = token
    self.request = request
    self.canonical = canonical
    self.hash = hash
    self.signature = signature
  }

  var description: String { name }

  static let all = get + getMore + post
}

@Suite("The AWS signature test suite")
struct AWSVectorTests {
  @Test("is whole") func count() { #expect(AWSVector.all.count == 38) }

  @Test("gives the same octets", arguments: AWSVector.all)
  func signs(_ vector: AWSVector) throws {
    let (head, body) = Self.parts(vector.request)
    let line = head[0]
    let space = try #require(line.firstIndex(of: " "))
    let end = try #require(line.lastIndex(of: " "))
    let method = Array(line[..<space].utf8)
    let target = Array(line[line.index(after: space)..<end].utf8)
    let fields = Array(head.dropFirst().filter { !$0.hasPrefix("Host:") }.map { $0 + "\r\n" }.joined().utf8)
    let hash = SHA256.digest(vector.signsBody ? Array(body.utf8) : [])
    var payload: [UInt8] = []
    payload.append(hex: hash)
    let scope = SigningScope(service: Array("service".utf8), region: Array("us-east-1".utf8))
    let signature = sigV4(
      method, target, fields, scope, payload, token: vector.token, writesPayload: vector.signsBody,
      form: vector.normalized ? .normalized : .asWritten)
    #expect(String(decoding: signature.canonicalRequest, as: UTF8.self) == vector.canonical)
    #expect(
      String(decoding: signature.stringToSign, as: UTF8.self)
        == "AWS4-HMAC-SHA256\n20150830T123600Z\n20150830/us-east-1/service/aws4_request\n\(vector.hash)")
    let key = try SigningKey(
      secret: Array("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".utf8), for: scope, on: signature.time.day)
    let code = try signature.signature(by: key)
    #expect(String(decoding: code, as: UTF8.self) == vector.signature)
    let names = try #require(vector.canonical.split(separator: "\n").dropLast().last)
    #expect(
      String(
        decoding: signature.authorizationLine(accessKeyID: Array("AKIDEXAMPLE".utf8), signature: code), as: UTF8.self)
        == "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        + "SignedHeaders=\(names), Signature=\(vector.signature)\r\n")
  }

  /// The lines of the head, folded ones joined, and the body.
  private static func parts(_ request: String) -> (head: [String], body: String) {
    let halves = request.split(separator: "\n\n", maxSplits: 1)
    var lines: [String] = []
    for line in halves[0].split(separator: "\n") {
      if line.hasPrefix(" "), let last = lines.popLast() { lines.append(last + line) } else { lines.append(String(line)) }
    }
    return (lines, halves.count > 1 ? String(halves[1]) : "")
  }
}

func sigV4(
  _ method: [UInt8], _ target: [UInt8], _ fields: [UInt8], _ scope: SigningScope, _ payload: [UInt8], token: String? = nil,
  writesPayload: Bool = false, form: PathForm? = nil, host: String = "example.amazonaws.com", time: Int64 = 1_440_938_160,
  signsAll: Bool = true
) -> SigV4Signature {
  Array(host.utf8).withUnsafeBytes { host in
    method.withUnsafeBytes { method in
      target.withUnsafeBytes { target in
        fields.withUnsafeBytes { fields in
          SigV4Signature(
            of: SigV4Request(method: method, target: target, host: host, fields: fields), for: scope, at: SigningTime(time),
            token: token.map { Array($0.utf8) }, payload: payload, writesPayload: writesPayload, signsAll: signsAll, form: form)
        }
      }
    }
  }
}
