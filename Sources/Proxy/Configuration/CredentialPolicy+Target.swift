import Credentials
import Forwarding

extension CredentialPolicy {
  /// How it is a part of the target; nil: it is in fields.
  var targetForm: TargetCredential.Form? {
    switch kind {
    case .query(let name, _): return .parameter(name: Array(name.utf8))
    case .path(let segment, _):
      let around = TargetPart.around(segment)
      return .segment(before: around.before, after: around.after)
    case .basic, .bearer, .header, .oauth2, .sigv4, .jwt, .hmac, .httpSignature, .digest, .negotiate: return nil
    }
  }
}
