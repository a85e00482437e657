extension CredentialPolicy {
  /// Name of the header field that it sets; nil: it is a part of the target.
  public var fieldName: [UInt8]? {
    switch kind {
    case .query, .path: nil
    case .header(let name, _, _): Array(name.utf8)
    case .jwt(let policy): Array(policy.field.utf8)
    case .hmac(let policy): Array(policy.signatureField.utf8)
    case .httpSignature: Array("Signature".utf8)
    case .basic, .bearer, .oauth2, .sigv4, .digest, .negotiate: Array("Authorization".utf8)
    }
  }

  /// Names of other fields that it writes.
  public var moreFields: [[UInt8]] {
    switch kind {
    case .oauth2(let oauth2): oauth2.dpop == nil ? [] : [Array("DPoP".utf8)]
    case .sigv4: [Array("X-Amz-Date".utf8), Array("X-Amz-Security-Token".utf8)]
    case .hmac(let policy): policy.fields.map { Array($0.name.utf8) }.filter { $0 != fieldName }
    case .httpSignature: [Array("Signature-Input".utf8)]
    case .basic, .bearer, .header, .jwt, .digest, .negotiate, .query, .path: []
    }
  }

  /// Those of its fields that each attempt gets anew, as far as they prove who asks. What else it writes, such as times, hashes and names of
  /// keys, is public: signed URLs of others have it as well.
  public var proofs: [Proof] {
    switch kind {
    case .oauth2(let oauth2): oauth2.dpop == nil ? [] : [Proof("DPoP")]
    case .sigv4: [Proof("Authorization", parameter: "Signature")]
    case .digest: [Proof("Authorization", parameter: "response")]
    case .negotiate: [Proof("Authorization")]
    case .jwt(let policy): [Proof(policy.field)]
    case .hmac(let policy): policy.fields.filter { $0.value.pieces.contains(.signature) }.map { Proof($0.name) }
    case .httpSignature: [Proof("Signature")]
    case .basic, .bearer, .header, .query, .path: []
    }
  }

  public struct Proof: Sendable {
    public let field: [UInt8]
    /// The part of the value; nil: all of it.
    public let parameter: [UInt8]?

    init(_ field: String, parameter: String? = nil) {
      self.field = Array(field.utf8)
      self.parameter = parameter.map { Array($0.utf8) }
    }
  }

  /// Names of the app's fields that say how the body is to be signed. They go on, and without them the body would be taken for another.
  public var readFields: [[UInt8]] {
    guard case .sigv4 = kind else { return [] }
    return ["X-Amz-Content-Sha256", "X-Amz-Decoded-Content-Length", "X-Amz-Trailer"].map { Array($0.utf8) }
  }
}
