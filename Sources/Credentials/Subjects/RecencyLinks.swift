/// Circular lists, most recently used first. A node is in one list at most. Each operation takes constant time.
struct RecencyLinks: Sendable {
  private var before: [Int32] = []
  private var after: [Int32] = []

  /// A new node is in no list, or the anchor of an empty one.
  mutating func makeNodes(upTo last: Int) {
    while before.count <= last {
      before.append(Int32(before.count))
      after.append(Int32(after.count))
    }
  }

  /// Makes a node the most recent one of a list.
  mutating func insert(_ node: Int, in anchor: Int) {
    let first = after[anchor]
    before[node] = Int32(anchor)
    after[node] = first
    before[Int(first)] = Int32(node)
    after[anchor] = Int32(node)
  }

  /// A node in no list stays so.
  mutating func remove(_ node: Int) {
    let (previous, next) = (before[node], after[node])
    after[Int(previous)] = next
    before[Int(next)] = previous
    before[node] = Int32(node)
    after[node] = Int32(node)
  }

  /// The least recent node of a list; nil if it is empty.
  func last(of anchor: Int) -> Int? {
    let node = Int(before[anchor])
    return node == anchor ? nil : node
  }
}
