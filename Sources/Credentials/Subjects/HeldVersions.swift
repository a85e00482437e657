/// Versions that were replaced or evicted while requests may still have them, so that the end of a login reaches these, too.
/// Forgets those that nobody has any more; adding one takes constant time on average.
struct HeldVersions: Sendable {
  private static let smallest = 64

  private var versions: [RenderedCredential] = []
  private var nextLook = smallest

  mutating func add(_ version: RenderedCredential) {
    if versions.count >= nextLook {
      for index in versions.indices.reversed() where isKnownUniquelyReferenced(&versions[index]) {
        versions.swapAt(index, versions.count - 1)
        versions.removeLast()
      }
      nextLook = max(Self.smallest, 2 * versions.count)
    }
    versions.append(version)
  }

  mutating func withdraw() {
    for version in versions { version.withdraw() }
    self = HeldVersions()
  }
}
