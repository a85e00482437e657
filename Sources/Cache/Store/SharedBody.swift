import Synchronization

/// How far a body is that one loop writes and others read.
public final class BodyProgress: Sendable {
  public enum State: UInt8, Sendable { case open, complete, broken }
  private let state = Atomic<UInt8>(0)

  /// Read it before the bytes: if it is not `open`, no more follow.
  public var current: State { State(rawValue: state.load(ordering: .acquiring)) ?? .broken }
  func end(_ end: State) { state.store(end.rawValue, ordering: .releasing) }
}

/// A reader's place in a body. Each reader has its own, on its own loop.
public struct BodyReader: Sendable {
  private var block: Block
  private var offset = 0
  private let progress: BodyProgress
  /// Bytes read.
  public private(set) var position = 0

  init(root: Block, progress: BodyProgress) {
    block = root
    self.progress = progress
  }

  public enum Next {
    /// Valid until `advance`.
    case bytes(UnsafeRawBufferPointer)
    case later
    case complete
    case broken
  }

  public mutating func next() -> Next {
    let state = progress.current
    while true {
      // Before the bytes: the writer fills a block before it appends another.
      let following = block.next
      let bytes = block.bytes
      if offset < bytes.count { return .bytes(UnsafeRawBufferPointer(rebasing: bytes[offset...])) }
      guard let following else { break }
      block = following
      offset = 0
    }
    switch state {
    case .open: return .later
    case .complete: return .complete
    case .broken: return .broken
    }
  }

  /// The first `count` bytes of what `next` gave are done with.
  public mutating func advance(_ count: Int) {
    offset += count
    position += count
  }
}

/// A complete body.
public struct StoredBody: Sendable {
  private let root: Block
  private let progress: BodyProgress
  public let size: Int
  /// Bytes that its blocks occupy.
  let cost: Int

  fileprivate init(root: Block, progress: BodyProgress, size: Int, cost: Int) {
    self.root = root
    self.progress = progress
    self.size = size
    self.cost = cost
  }

  public func reader() -> BodyReader { BodyReader(root: root, progress: progress) }

  /// Calls `body` with the pieces of a part, in order, for one writev. They are valid as long as this value.
  public func forEachPiece(of range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void) {
    var block: Block? = root
    var start = 0
    while let current = block, start < range.upperBound {
      let bytes = current.bytes
      let low = max(range.lowerBound - start, 0)
      let high = min(range.upperBound - start, bytes.count)
      if low < high { body(UnsafeRawBufferPointer(rebasing: bytes[low..<high])) }
      start += bytes.count
      block = current.next
    }
  }
}

/// Writes a body into blocks as it arrives. On one loop.
public final class BodyWriter {
  private let store: CacheStore
  private let progress = BodyProgress()
  /// Begins with a block without bytes, so that readers can wait for the first one. nil: the body is not stored any more.
  private var root: Block?
  private var last: Block
  /// Taken for blocks to come.
  private var reserved: Int
  /// Taken for blocks that are there, as long as they are ours.
  private var used: Int
  /// Of the whole body; nil: unknown.
  private let length: Int?
  /// Capacity of all blocks so far.
  private var allocated = 0
  public private(set) var written = 0

  /// - Parameter length: of the body, if known: its memory is taken at once, so it cannot run out in the middle.
  /// - Returns: nil: no room.
  public init?(_ store: CacheStore, length: Int?) {
    var needed = Block.cost(0)
    if let length {
      needed += length + (length + Block.size - 1) / Block.size * Block.overhead
    }
    guard store.reserve(needed) else { return nil }
    store.flying(needed)
    self.store = store
    self.length = length
    let root = Block(capacity: 0, ledger: store.ledger)
    self.root = root
    last = root
    used = Block.cost(0)
    reserved = needed - used
  }

  deinit {
    if progress.current == .open { progress.end(.broken) }
    store.ledger.give(reserved)
    store.flying(-(reserved + used))
  }

  /// A reader from the beginning; nil: the beginning is gone.
  public func reader() -> BodyReader? { root.map { BodyReader(root: $0, progress: progress) } }

  /// - Returns: bytes taken. Fewer than there are: no room now.
  public func append(_ bytes: UnsafeRawBufferPointer) -> Int {
    var taken = 0
    while taken < bytes.count {
      if last.isFull {
        guard let block = makeBlock() else { break }
        last.append(block)
        last = block
      }
      taken += last.append(UnsafeRawBufferPointer(rebasing: bytes[taken...]))
    }
    written += taken
    return taken
  }

  private func makeBlock() -> Block? {
    let capacity = length.map { min(Block.size, $0 - allocated) } ?? (allocated == 0 ? Block.size / 8 : Block.size)
    guard capacity > 0 else { return nil }
    let cost = Block.cost(capacity)
    if length != nil {
      guard reserved >= cost else { return nil }
      reserved -= cost
    } else {
      guard store.reserve(cost) else { return nil }
      if root != nil { store.flying(cost) }
    }
    if root != nil || length != nil { used += cost }
    allocated += capacity
    return Block(capacity: capacity, ledger: store.ledger)
  }

  /// It is too large, or must not be stored: from now on its blocks go as soon as all readers have passed them.
  public func release() {
    guard root != nil else { return }
    root = nil
    guard length == nil else { return }
    store.flying(-used)
    used = 0
  }

  /// The body is cut: every reader sees it, whatever it has read.
  public func breakOff() { progress.end(.broken) }

  /// The body has ended as it should.
  /// - Returns: nil: it is not to be stored, or not whole.
  public func finish() -> StoredBody? {
    if let length, written != length {
      progress.end(.broken)
      return nil
    }
    progress.end(.complete)
    guard let root else { return nil }
    // A short body in a block for a longer one is copied: most are short.
    if length == nil, written > 0, root.next === last, last.capacity - written > written / 4,
      let copy = BodyWriter(store, length: written), copy.append(last.bytes) == written
    {
      return copy.finish()
    }
    return StoredBody(root: root, progress: progress, size: written, cost: used)
  }
}
