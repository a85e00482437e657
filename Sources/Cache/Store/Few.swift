/// A list that nearly always has one element at most, which needs no array. In the order in which they came.
struct Few<Element: AnyObject & Sendable>: Sendable {
  private var first: Element?
  /// nil: there are none.
  private var others: ContiguousArray<Element>?

  var isEmpty: Bool { first == nil }
  var count: Int { first == nil ? 0 : 1 + (others?.count ?? 0) }
  /// nil: there are none, or several.
  var only: Element? { others == nil ? first : nil }

  var all: [Element] {
    guard let first else { return [] }
    return [first] + (others ?? [])
  }

  func last(where isMeant: (Element) -> Bool) -> Element? {
    if let others, let found = others.last(where: isMeant) { return found }
    guard let first, isMeant(first) else { return nil }
    return first
  }

  func contains(where isMeant: (Element) -> Bool) -> Bool { last(where: isMeant) != nil }

  mutating func append(_ element: Element) {
    if first == nil { first = element } else { others = (others ?? []) + [element] }
  }

  /// - Returns: whether it was there.
  mutating func remove(_ element: Element) -> Bool {
    if others == nil {
      guard first === element else { return false }
      first = nil
      return true
    }
    let before = count
    removeAll { $0 === element }
    return count < before
  }

  mutating func removeAll(where isMeant: (Element) -> Bool) {
    let rest = all.filter { !isMeant($0) }
    first = rest.first
    others = rest.count > 1 ? ContiguousArray(rest.dropFirst()) : nil
  }

  mutating func removeFirst() -> Element? {
    let oldest = first
    removeAll { $0 === oldest }
    return oldest
  }
}
