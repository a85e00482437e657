import Synchronization

/// A piece of a body. One loop writes it once, front to back; any loop reads what is written. Blocks form a list: whoever holds one
/// holds all behind it, and blocks that every reader has passed go by themselves.
public final class BodyBlock: Sendable {
  /// Bytes of a full block.
  public static let size = 32 << 10
  /// Its own cost, apart from its capacity.
  static let overhead = 96

  // SAFETY: only the writer stores into it, behind `filled`; readers load `filled` and read only before it. The block frees it.
  nonisolated(unsafe) private let memory: UnsafeMutableRawPointer?
  let capacity: Int
  private let filled = Atomic<Int>(0)
  private let following = Atomic<Unmanaged<BodyBlock>?>(nil)
  private let ledger: MemoryLedger?
  private let spare: SpareBlocks?

  /// - Parameter ledger: the caller has taken `cost(capacity)` bytes from it, and the block gives them back; nil: it counts nowhere.
  convenience init(capacity: Int, ledger: MemoryLedger?) { self.init(capacity: capacity, ledger: ledger, spare: nil) }

  fileprivate init(capacity: Int, ledger: MemoryLedger?, spare: SpareBlocks?) {
    self.capacity = capacity
    self.ledger = ledger
    self.spare = spare
    // The first block of a body has no bytes.
    memory = capacity == 0 ? nil : UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  }

  static func cost(_ capacity: Int) -> Int { capacity + overhead }

  deinit {
    memory?.deallocate()
    ledger?.give(Self.cost(capacity))
    spare?.give()
    // In a loop: a list of thousands of blocks would exhaust the stack if each one released the next.
    var next = following.exchange(nil, ordering: .acquiring)?.takeRetainedValue()
    while var block = next {
      next = nil
      guard isKnownUniquelyReferenced(&block) else { return }
      next = block.following.exchange(nil, ordering: .acquiring)?.takeRetainedValue()
    }
  }

  /// What is written so far.
  public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: filled.load(ordering: .acquiring)) }

  /// The next block; nil: not yet, or none.
  public var next: BodyBlock? { following.load(ordering: .acquiring)?.takeUnretainedValue() }

  var isFull: Bool { filled.load(ordering: .relaxed) == capacity }

  /// Only for the writer.
  /// - Returns: bytes taken.
  func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    let start = filled.load(ordering: .relaxed)
    let count = min(bytes.count, capacity - start)
    guard count > 0, let memory, let source = bytes.baseAddress else { return 0 }
    (memory + start).copyMemory(from: source, byteCount: count)
    filled.store(start + count, ordering: .releasing)
    return count
  }

  /// Only for the writer, once.
  func append(_ block: BodyBlock) { following.store(Unmanaged.passRetained(block), ordering: .releasing) }
}

/// What a body that is not stored may have beside the ledger: two blocks, as much as a connection's own buffer, so that it goes on while
/// readers of other answers hold all memory.
final class SpareBlocks: Sendable {
  private static let limit = 2
  private let count = Atomic<Int>(0)

  /// For the writer. nil: its readers have not passed those that there are.
  func make(_ capacity: Int) -> BodyBlock? {
    guard count.load(ordering: .relaxed) < Self.limit else { return nil }
    count.add(1, ordering: .relaxed)
    return BodyBlock(capacity: capacity, ledger: nil, spare: self)
  }

  fileprivate func give() { count.subtract(1, ordering: .relaxed) }
}
