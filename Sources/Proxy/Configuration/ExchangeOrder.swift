import Credentials

extension CredentialPolicy {
  /// Names of the credentials whose tokens it exchanges.
  var sourceNames: [String] { tokens?.sourceNames ?? [] }
}

extension Collection where Element == CredentialPolicy {
  /// Each credential after those whose tokens it exchanges. One that is in a circle, which no configuration can have, is left
  /// out.
  var inOrderOfExchange: [CredentialPolicy] {
    var rest = sorted { $0.name < $1.name }
    var ordered: [CredentialPolicy] = []
    var names: Set<String> = []
    while true {
      let ready = rest.filter { $0.sourceNames.allSatisfy(names.contains) }
      if ready.isEmpty { return ordered }
      ordered += ready
      names.formUnion(ready.map(\.name))
      rest.removeAll { names.contains($0.name) }
    }
  }
}
