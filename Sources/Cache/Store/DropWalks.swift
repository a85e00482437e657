import Synchronization

/// The drops that go through the store now, by the number before their own. They have not yet met all answers that they mean: what a look-up
/// finds meanwhile may be about to go.
final class DropWalks: Sendable {
  private let numbers = Mutex<[UInt64]>([])
  private let least = Atomic<UInt64>(.max)

  /// Whoever looks into the store now began no later than that. To be read after the count of invalidations.
  var bound: UInt64 { least.load(ordering: .acquiring) }

  /// - Parameter number: before that of the drop.
  func walk<Result>(after number: UInt64, _ body: () -> Result) -> Result {
    change { $0.append(number) }
    defer { change { numbers in if let index = numbers.firstIndex(of: number) { numbers.remove(at: index) } } }
    return body()
  }

  private func change(_ body: (inout [UInt64]) -> Void) {
    numbers.withLock { numbers in
      body(&numbers)
      least.store(numbers.min() ?? .max, ordering: .releasing)
    }
  }
}
