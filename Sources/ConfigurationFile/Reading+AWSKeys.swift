import Credentials
import Settings

/// Reads where a `sigv4` credential's keys come from.
extension Reading {
  /// nil after an error.
  func awsKeySource(_ section: Section<SigV4Keys>, trust: TrustRules, allowUntrusted: Bool) -> SigV4Policy.Keys? {
    error(section.place, "\(section.path.shown) needs 'access_key_id' and 'secret_access_key'")
    return nil
  }

  /// The region of the profile that `awsKeySource` uses; nil: it says none.
  func awsProfileRegion(_ section: Section<SigV4Keys>) -> String? { nil }
}
