import Credentials
import Settings

extension Describing {
  /// What a credential is in the target, with stars in place of the secret.
  static func targetPart(_ policy: CredentialPolicy) -> String {
    String(decoding: policy.shownTargetPart ?? [], as: UTF8.self)
  }

  /// What happens to an app's own credential there; nil: the credential is in fields.
  static func ownTarget(_ policy: CredentialPolicy, _ rule: UpstreamSettings.ClientAuthorization) -> String? {
    guard policy.shownTargetPart != nil else { return nil }
    let own: String
    switch policy.kind {
    case .query(let name, _): own = "parameters named \(name)"
    // Nothing tells it from other segments.
    case .path(TargetPart.placeholder, _): return "adds it to the path"
    default: own = "first segment \(targetPart(policy))"
    }
    switch rule {
    case .replace: return "adds it; it replaces the app's own \(own)"
    case .keep: return "adds it, unless the app sends its own \(own)"
    case .reject: return "adds it; an app that sends its own \(own) gets 403"
    }
  }
}
