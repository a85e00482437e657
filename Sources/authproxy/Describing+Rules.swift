import Settings

extension Describing {
  /// What an entry's rules do to messages; empty without rules. Names fields, and no value: people write secrets into them.
  static func rules(_ upstream: UpstreamSettings) -> [String] {
    [("requests", upstream.requestHeaders), ("answers", upstream.responseHeaders)].compactMap { subject, rules in
      let removed = rules.remove.isEmpty ? nil : "lose \(rules.remove.joined(separator: ", "))"
      let set = rules.set.isEmpty ? nil : "get \(rules.set.map(\.name).joined(separator: ", "))"
      let effects = [removed, set].compactMap { $0 }
      return effects.isEmpty ? nil : "\(subject) \(effects.joined(separator: "; "))"
    }
  }
}
