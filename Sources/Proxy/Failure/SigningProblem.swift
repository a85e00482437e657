import Signing

/// Why a request with a credential that signs is not sent, or not sent to its end. Texts contain no secret.
enum SigningProblem {
  /// The body must be read whole, and exceeds `limits.hashed_body`.
  case bodyTooLarge(limit: Int)
  /// The bodies that are kept fill `limits.buffers`.
  case noMemoryForBody
  /// The credential's transform takes no more of the body.
  case body(BodyTransformError)
  /// The app asks for a form of signature that the proxy cannot make.
  case unsupported(String)
  /// The app asks for something that the credential does not sign, or sent a signature of its own.
  case forbidden(String)
  /// The configuration does not say enough.
  case configuration(credential: String, String)
  /// What the upstream says to authenticate itself is wrong or missing.
  case peer(String)
}
