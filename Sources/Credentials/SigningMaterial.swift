/// What a request is signed with, where a fixed field is not enough. Shared by all loops; what is made of it, each loop keeps for itself.
public enum SigningMaterial: Sendable, Hashable {
  case awsKeys(AWSKeys)
  case jwt(JWTMint)
  case hmac(HMACPolicy)
  case httpSignature(HTTPSignaturePolicy)
  case digest(DigestPolicy)
  case negotiate(NegotiatePolicy)
  /// It signs nothing, but goes into the target of each attempt.
  case target(TargetPart)
}

extension SigningMaterial {
  /// A field line that goes with every request as it is; empty: none.
  var line: [UInt8] {
    guard case .awsKeys(let keys) = self, let token = keys.sessionToken else { return [] }
    return Array("X-Amz-Security-Token: ".utf8) + token.bytes + [0x0d, 0x0a]
  }
}

extension SigningMaterial: CustomStringConvertible, CustomReflectable {
  public var description: String { "<signing material>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
