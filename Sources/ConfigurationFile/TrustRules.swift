import Settings
import Trust

/// What names of trust policies mean to those who use them.
struct TrustRules {
  var policies: Reading.TrustPolicies
  /// `all_hosts_must_be_evaluated`.
  var allMustBeNamed: Bool
  /// The section `trust` is misspelt: what it would hold is not known.
  var isUnknown = false

  /// Whether the name is a policy's; if not, an error says so.
  func check(_ name: Located<String>, _ path: KeyPath, _ reading: Reading) -> Bool {
    if isUnknown || policies[name.value] != nil { return true }
    reading.error(
      name.place,
      "\(path.shown): there is no \(shown(name.value)) in 'trust'\(suggestion(for: name.value, among: policies.keys))")
    return false
  }

  /// Why a secret may not go to a host under this policy unless `allow_untrusted` is said; nil where it may.
  func gap(_ name: String?) -> (name: String, what: String)? {
    let name = name ?? "default"
    guard let policy = policies[name] ?? nil else { return nil }
    if policy.evaluators == [.disabled] { return (name, "is disabled") }
    switch (policy.validatesChain, policy.validatesHost) {
    case (true, true): return nil
    case (false, true): return (name, "does not validate the chain")
    case (true, false): return (name, "does not validate the host")
    case (false, false): return (name, "validates neither chain nor host")
    }
  }
}
