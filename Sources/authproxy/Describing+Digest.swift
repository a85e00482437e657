import Credentials

extension Describing {
  static func digest(_ policy: DigestPolicy) -> String {
    let algorithms = policy.algorithms.map(\.rawValue).joined(separator: ", then ")
    return "digest, user name \(policy.username), \(algorithms); the first request to an origin goes without it"
  }
}
