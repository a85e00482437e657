/// A loop's blocks. A connection borrows one while it is ready, and gives it back when it is idle. A burst of connections or a stop of an origin
/// needs many at once, so the loop often frees half of those that are free, but for a few, and what the work needs comes back.
public struct BlockPool: ~Copyable {
  /// Large enough for a request head, a response head or a TLS record.
  public static let small = 32 << 10
  /// For bulk data: plain writes of 128 KiB cost half as much as writes of 16 KiB.
  public static let large = 128 << 10
  private static let most = 64
  /// For the head of a request, which is kept until its answer has come.
  private static let head = 1 << 10
  private static let mostHeads = 256
  private static let mostLarge = 8
  /// So many of a size stay, however long none is needed.
  private static let least = 4
  /// Nanoseconds between two looks.
  static let pause: Int64 = 4_000_000_000

  private var headBlocks = ContiguousArray<Block>()
  private var smallBlocks = ContiguousArray<Block>()
  private var largeBlocks = ContiguousArray<Block>()
  /// The time of the next look.
  private(set) var nextLook: Int64 = 0
  /// Whether a look now would free something.
  var hasSurplus: Bool {
    headBlocks.count > Self.least || smallBlocks.count > Self.least || largeBlocks.count > Self.least
  }
  /// Free blocks of the size `small`, for tests.
  var smallOnes: Int { smallBlocks.count }

  public mutating func borrow() -> Block { smallBlocks.popLast() ?? Block(capacity: Self.small) }
  public mutating func borrowLarge() -> Block { largeBlocks.popLast() ?? Block(capacity: Self.large) }
  /// One for a head of up to `size` bytes.
  public mutating func borrow(forHeadOf size: Int) -> Block {
    if size > Self.head { return Block(capacity: size) }
    return headBlocks.popLast() ?? Block(capacity: Self.head)
  }

  /// Takes back a borrowed block; frees a block of another size.
  public mutating func giveBack(_ block: consuming Block) {
    block.clear()
    if block.capacity == Self.small {
      if smallBlocks.count < Self.most { smallBlocks.append(block) }
    } else if block.capacity == Self.head {
      if headBlocks.count < Self.mostHeads { headBlocks.append(block) }
    } else if block.capacity == Self.large {
      if largeBlocks.count < Self.mostLarge { largeBlocks.append(block) }
    }
  }

  /// Frees half of the free blocks of each size, but for `least`.
  mutating func look(at now: Int64) {
    nextLook = now &+ Self.pause
    Self.halve(&headBlocks)
    Self.halve(&smallBlocks)
    Self.halve(&largeBlocks)
  }

  /// Those at the bottom have been free for the longest time.
  private static func halve(_ blocks: inout ContiguousArray<Block>) {
    let surplus = min((blocks.count + 1) / 2, blocks.count - least)
    if surplus <= 0 { return }
    for block in blocks[..<surplus] { block.dropPages() }
    blocks.removeFirst(surplus)
  }
}
