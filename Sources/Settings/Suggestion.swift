/// "Did you mean": the known name that is nearest to a mistyped one.
public enum Suggestion {
  /// nil where nothing is near enough: a third of the name's length may differ, three letters at most.
  public static func nearest(to name: String, among known: some Sequence<String>) -> String? {
    let folded = fold(name)
    guard !folded.isEmpty, folded.count <= 64 else { return nil }
    let limit = max(1, min(3, folded.count / 3))
    var best: (name: String, distance: Int)?
    for candidate in known where candidate != name {
      let other = fold(candidate)
      guard other.count <= 64, abs(other.count - folded.count) <= limit else { continue }
      let distance = distance(folded, other)
      guard distance <= limit else { continue }
      // Equal distances go to the name that sorts first, so that the answer does not depend on a hash.
      if let best, (best.distance, best.name) <= (distance, candidate) { continue }
      best = (candidate, distance)
    }
    return best?.name
  }

  /// Case, `-` and `_` are what people mix up first.
  private static func fold(_ name: String) -> [UInt8] {
    name.utf8.map { byte in
      if byte == UInt8(ascii: "-") { return UInt8(ascii: "_") }
      return (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }
  }

  /// Edits, a swap of neighbours being one (optimal string alignment).
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    var before = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    for i in 0..<a.count {
      var current = [i + 1] + [Int](repeating: 0, count: b.count)
      for j in 0..<b.count {
        current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { current[j + 1] = min(current[j + 1], before[j - 1] + 1) }
      }
      (before, previous) = (previous, current)
    }
    return previous[b.count]
  }
}
