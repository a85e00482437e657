/// "Did you mean": the known name that is most similar to a mistyped one.
public enum Suggestion {
  /// nil if none is similar enough: at most a third of the letters, and at most three, may differ.
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
      // Of equal distances the name that sorts first wins, so that the result does not depend on hash order.
      if let best, (best.distance, best.name) <= (distance, candidate) { continue }
      best = (candidate, distance)
    }
    return best?.name
  }

  /// Ignores case and the difference between `-` and `_`, which people confuse most.
  private static func fold(_ name: String) -> [UInt8] {
    name.utf8.map { byte in
      if byte == UInt8(ascii: "-") { return UInt8(ascii: "_") }
      return (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }
  }

  /// Number of edits; swapping two neighbours is one edit (optimal string alignment).
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
