/// The variables of the process, as they were at load: they cannot change from outside. They may contain secrets, so that nothing
/// shows them.
public struct SourceEnvironment: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
  private let variables: [String: Secret]

  public init(_ variables: [String: String] = [:]) { self.variables = variables.mapValues { Secret($0) } }

  /// nil if it is not set, or empty.
  public subscript(name: String) -> String? {
    guard let value = variables[name], !value.isEmpty else { return nil }
    return String(decoding: value.bytes, as: UTF8.self)
  }

  /// `NAME=value` each, sorted: for programs.
  public var list: [String] {
    variables.map { "\($0.key)=\(String(decoding: $0.value.bytes, as: UTF8.self))" }.sorted()
  }

  public var description: String { "<environment>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
