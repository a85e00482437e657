import Settings

/// Keys of the language whose feature the program does not have yet. `check` accepts them; `run` refuses, so that nobody
/// believes in a protection that is not there.
public enum UnbuiltFeatures {
  public struct Feature: Sendable {
    /// Keys from the top, a dot between; list items add nothing and `*` stands for a name that the operator chose:
    /// `upstreams.retry`, `credentials.*.oauth2`, `trust.*.revocation`.
    public var keyPath: String
    /// nil: any value; otherwise only this text counts, as `forward` of `unlisted_hosts`.
    public var value: String?
    /// What it would be: `refreshing tokens`.
    public var name: String
    public init(_ keyPath: String, value: String? = nil, name: String) {
      self.keyPath = keyPath
      self.value = value
      self.name = name
    }
  }

  /// Empty once everything is built. An entry looks like
  /// `Feature("credentials.*.oauth2", name: "tokens that refresh themselves")`.
  public static let table: [Feature] = []

  /// Every place that asks for one of these features, in the order of the file.
  static func used(by root: Node, table: [Feature] = table) -> [UnbuiltUse] {
    var uses: [UnbuiltUse] = []
    for feature in table {
      let steps = feature.keyPath.split(separator: ".").map(String.init)
      find(steps[...], in: root, KeyPath(), feature, &uses)
    }
    return uses.sorted { $0.place < $1.place }
  }

  private static func find(
    _ steps: ArraySlice<String>, in node: Node, _ path: KeyPath, _ feature: Feature, _ uses: inout [UnbuiltUse]
  ) {
    switch node.content {
    case .sequence(let items):
      for (index, item) in items.enumerated() { find(steps, in: item, path.index(index), feature, &uses) }
    case .mapping(let entries):
      guard let step = steps.first else { return }
      for entry in entries where step == "*" || step == entry.key {
        let inner = path.named(entry.key)
        if steps.count > 1 {
          find(steps.dropFirst(), in: entry.value, inner, feature, &uses)
        } else if matches(entry.value, feature.value) {
          uses.append(UnbuiltUse(place: entry.keyPlace, keyPath: inner.shown, feature: feature.name))
        }
      }
    case .scalar: break
    }
  }

  private static func matches(_ node: Node, _ wanted: String?) -> Bool {
    guard let wanted else { return true }
    switch node.content {
    case .scalar(let text, _): return text == wanted
    case .sequence(let items): return items.contains { matches($0, wanted) }
    case .mapping: return false
    }
  }
}
