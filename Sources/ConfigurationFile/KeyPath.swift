/// The path of keys to a value: as errors show it, and as the language's description has it.
struct KeyPath {
  /// `upstreams[0].retry.attempts`; "" for the whole file.
  var shown = ""
  /// The same with indices and freely chosen names left out: `upstreams.retry.attempts`, `credentials.*.basic.password`.
  var schema = ""

  func key(_ name: String) -> KeyPath { KeyPath(shown: join(shown, name), schema: join(schema, name)) }
  /// An entry under a name that the operator chose.
  func named(_ name: String) -> KeyPath {
    let safe = name.utf8.count <= 200 && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }
    return KeyPath(shown: join(shown, safe ? name : "?"), schema: join(schema, "*"))
  }
  func index(_ index: Int) -> KeyPath { KeyPath(shown: "\(shown)[\(index)]", schema: schema) }

  private func join(_ path: String, _ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
