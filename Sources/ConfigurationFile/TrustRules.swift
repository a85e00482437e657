import Settings
import Trust

/// The trust policies, for keys that refer to them by name.
struct TrustRules {
  var policies: Reading.TrustPolicies
  /// `all_hosts_must_be_evaluated`.
  var allMustBeNamed: Bool
  /// The key `trust` is misspelt, so its policies are unknown.
  var isUnknown = false

  /// No policy is read: each may be there.
  static let unread = TrustRules(policies: [:], allMustBeNamed: false, isUnknown: true)

  /// Whether a policy has this name; reports an error if not.
  func check(_ name: Located<String>, _ path: KeyPath, _ reading: Reading) -> Bool {
    if isUnknown || policies[name.value] != nil { return true }
    reading.error(
      name.place,
      "\(path.shown): there is no \(shown(name.value)) in 'trust'\(suggestion(for: name.value, among: policies.keys))")
    return false
  }

  /// Why a secret needs `allow_untrusted` to go to a host under this policy; nil if it does not.
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
