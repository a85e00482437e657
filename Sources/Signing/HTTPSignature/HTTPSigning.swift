import Credentials
import Crypto

/// Signs requests with one `http_signature` credential (RFC 9421). It keeps the opened key. Confined to one thread at a time.
public final class HTTPSigning {
  private let policy: HTTPSignaturePolicy
  private let signer: MessageSigner
  private let components: [(component: SignatureComponent, identifier: [UInt8])]
  private let coversDigest: Bool
  /// The serialised parameters that do not change: keyid and alg, and tag.
  private let keyParameters: [UInt8]
  private let tagParameter: [UInt8]
  private let label: [UInt8]

  private static let digestIdentifier = Array("\"content-digest\"".utf8)

  /// - Throws: `key`, if it cannot be opened or does not fit.
  public init(_ policy: HTTPSignaturePolicy) throws(OpenSSLError) {
    self.policy = policy
    signer = try MessageSigner(policy.key, policy.algorithm)
    components = policy.components.compactMap { name in
      guard let component = SignatureComponent(name) else { return nil }
      var identifier: [UInt8] = []
      StructuredField.append(string: name.lowercased().utf8, to: &identifier)
      return (component, identifier)
    }
    coversDigest = components.contains { $0.component == .field(ContentDigest.fieldName) }
    keyParameters = Self.parameter("keyid", policy.keyID) + Self.parameter("alg", policy.algorithm.rawValue)
    tagParameter = policy.tag.map { Self.parameter("tag", $0) } ?? []
    label = Array(policy.label.utf8)
  }

  private static func parameter(_ name: String, _ value: String) -> [UInt8] {
    var text = Array(";\(name)=".utf8)
    StructuredField.append(string: value.utf8, to: &text)
    return text
  }

  /// What belongs to one attempt.
  public struct Moment: Sendable {
    /// Seconds since 1970.
    let created: Int64
    public init(created: Int64) { self.created = created }
  }

  public var contentDigest: HTTPSignaturePolicy.ContentDigest { policy.contentDigest }
  public var needsNonce: Bool { policy.sendsNonce }

  /// Most bytes that `fields` returns for any head.
  public var sizeLimit: Int {
    let covered = components.reduce(0) { $0 + $1.identifier.count + 1 } + Self.digestIdentifier.count + 1
    return 2 * label.count + covered + keyParameters.count + tagParameter.count + signer.signatureLimit * 4 / 3 + 320
  }

  /// The field lines, each with CRLF: Content-Digest if there is a body that the app has not vouched for, Signature-Input, Signature.
  /// What the app wrote as Content-Digest instead must not be sent.
  /// - Parameter nonce: another one for each attempt, visible ASCII; nil: not sent.
  public func fields(
    for request: SignableRequest, at moment: Moment, nonce: [UInt8]?
  ) throws(OpenSSLError) -> [UInt8] {
    let (base, input, digest) = parts(of: request, at: moment, nonce: nonce)
    let signature = try signer.sign(base)
    var lines: [UInt8] = []
    lines.reserveCapacity(sizeLimit)
    if let digest {
      lines.append(contentsOf: ContentDigest.linePrefix)
      lines.append(contentsOf: digest)
      lines.append(contentsOf: Self.lineEnd)
    }
    lines.append(contentsOf: Self.inputPrefix)
    lines.append(contentsOf: label)
    lines.append(UInt8(ascii: "="))
    lines.append(contentsOf: input)
    lines.append(contentsOf: Self.lineEnd)
    lines.append(contentsOf: Self.signaturePrefix)
    lines.append(contentsOf: label)
    lines.append(UInt8(ascii: "="))
    StructuredField.append(bytes: signature, to: &lines)
    lines.append(contentsOf: Self.lineEnd)
    return lines
  }

  private static let lineEnd: [UInt8] = [0x0d, 0x0a]
  private static let inputPrefix = Array("Signature-Input: ".utf8)
  private static let signaturePrefix = Array("Signature: ".utf8)

  /// What is signed: for people.
  public func shownBase(for request: SignableRequest, at moment: Moment, nonce: [UInt8]?) -> [UInt8] {
    parts(of: request, at: moment, nonce: nonce).base
  }

  /// The signature base, the value of Signature-Input without its label, and the Content-Digest that is added.
  private func parts(
    of request: SignableRequest, at moment: Moment, nonce: [UInt8]?
  ) -> (base: [UInt8], input: [UInt8], digest: [UInt8]?) {
    // An app's own digest is signed as it stands: the origin compares.
    var digest: [UInt8]?
    if let body = request.body, !ContentDigest.isDeclared(by: request) {
      digest = ContentDigest.value(of: body, by: policy.contentDigest, known: request.digest)
    }
    func append(_ component: SignatureComponent, to output: inout [UInt8]) -> Bool {
      if let digest, component == .field(ContentDigest.fieldName) {
        output.append(contentsOf: digest)
        return true
      }
      return component.append(of: request, to: &output)
    }
    var base = SignatureBase()
    for (component, identifier) in components { base.add(identifier) { append(component, to: &$0) } }
    if !coversDigest { base.add(Self.digestIdentifier) { append(.field(ContentDigest.fieldName), to: &$0) } }
    let input = base.finish(parameters(at: moment, nonce: nonce))
    return (base.text, input, digest)
  }

  private func parameters(at moment: Moment, nonce: [UInt8]?) -> [UInt8] {
    var text = Self.createdPrefix
    Digits.append(decimal: moment.created, to: &text)
    if let lifetime = policy.lifetime {
      text.append(contentsOf: Self.expiresPrefix)
      Digits.append(decimal: moment.created + Int64(lifetime / 1000), to: &text)
    }
    text.append(contentsOf: keyParameters)
    if let nonce {
      text.append(contentsOf: Self.noncePrefix)
      StructuredField.append(string: nonce, to: &text)
    }
    text.append(contentsOf: tagParameter)
    return text
  }

  private static let createdPrefix = Array(";created=".utf8)
  private static let expiresPrefix = Array(";expires=".utf8)
  private static let noncePrefix = Array(";nonce=".utf8)
}
