import CPrefetch
import Synchronization

/// How far a body is that one loop writes and others read.
public final class BodyProgress: Sendable {
  public enum State: UInt8, Sendable { case open, complete, broken }
  private let state = Atomic<UInt8>(0)
  private let ending = AtomicLazyReference<BodyEnding>()

  /// Read it before the bytes: if it is not `open`, no more follow.
  public var current: State { State(rawValue: state.load(ordering: .acquiring)) ?? .broken }
  func end(_ end: State) { state.store(end.rawValue, ordering: .releasing) }

  /// Before the end, once.
  func note(_ ending: BodyEnding) { _ = self.ending.storeIfNil(ending) }
  var lastChunk: [UInt8]? { ending.load()?.lastChunk }
}

/// The end of a body that has trailers.
final class BodyEnding: Sendable {
  let lastChunk: [UInt8]
  init(_ lastChunk: [UInt8]) { self.lastChunk = lastChunk }
}

/// A reader's place in a body. Each reader has its own, on its own loop.
public struct BodyReader: Sendable {
  private var block: BodyBlock
  private var offset = 0
  /// nil: it is complete.
  private let progress: BodyProgress?
  /// Bytes read.
  public private(set) var position = 0

  init(root: BodyBlock, progress: BodyProgress?) {
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
    let state = progress?.current ?? .complete
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

  /// After `complete`: the last chunk of the body with its trailers; nil: it has none.
  public var lastChunk: [UInt8]? { progress?.lastChunk }

  /// The first `count` bytes of what `next` or `forEachReady` gave are done with.
  public mutating func advance(_ count: Int) {
    offset += count
    position += count
    while offset > block.bytes.count, let following = block.next {
      offset -= block.bytes.count
      block = following
    }
  }

  /// Calls `body` with the pieces that are there, in order, until it returns false. They are valid until `advance`.
  public func forEachReady(_ body: (UnsafeRawBufferPointer) -> Bool) {
    var current: BodyBlock? = block
    var from = offset
    while let block = current {
      // Before the bytes: the writer fills a block before it appends another.
      let following = block.next
      let bytes = block.bytes
      if from < bytes.count, !body(UnsafeRawBufferPointer(rebasing: bytes[from...])) { return }
      from = 0
      current = following
    }
  }
}

/// A complete body.
public struct StoredBody: Sendable {
  /// Up to so many bytes a body that came as a whole is flat.
  public static let flatLimit = 8 << 10

  private enum Content {
    case blocks(BodyBlock)
    /// In one piece, which is cheaper than a block.
    case flat([UInt8])
  }

  private let content: Content
  /// Where the content begins, with what the runtime keeps there. To read it from `content` would count a reference, and wait for that memory.
  private let place: UInt
  public let size: Int
  /// Bytes that its blocks occupy, and give back. 0: it is flat, and counts with its answer.
  let cost: Int

  fileprivate init(root: BodyBlock, size: Int, cost: Int) { self.init(.blocks(root), size: size, cost: cost) }

  private init(_ content: Content, size: Int, cost: Int) {
    self.content = content
    place =
      switch content {
      case .blocks(let root): UInt(bitPattern: Unmanaged.passUnretained(root).toOpaque())
      case .flat(let bytes): bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) &- UInt(arrayHeader) }
      }
    self.size = size
    self.cost = cost
  }

  /// A copy of a body that is there as a whole: at most `BodyBlock.size` bytes.
  /// - Returns: nil: no room.
  public init?(copying bytes: UnsafeRawBufferPointer, in store: CacheStore) {
    if bytes.count <= Self.flatLimit {
      self.init(.flat(Array(bytes)), size: bytes.count, cost: 0)
      return
    }
    let cost = BodyBlock.cost(bytes.count)
    guard bytes.count <= BodyBlock.size, store.reserve(cost) else { return nil }
    let block = BodyBlock(capacity: bytes.count, ledger: store.ledger)
    _ = block.append(bytes)
    self.init(root: block, size: bytes.count, cost: cost)
  }

  /// Of a flat body a copy is read, which counts nowhere: it is meant to be sent with its head, by `forEachPiece`.
  public func reader() -> BodyReader {
    switch content {
    case .blocks(let root): return BodyReader(root: root, progress: nil)
    case .flat(let bytes):
      let block = BodyBlock(capacity: bytes.count, ledger: nil)
      _ = bytes.withUnsafeBytes { block.append($0) }
      return BodyReader(root: block, progress: nil)
    }
  }

  /// Has the processor fetch what its end needs.
  func prefetch() { cprefetch(UnsafeRawPointer(bitPattern: place), BodyBlock.overhead) }

  /// Bytes that it occupies in its answer.
  var flatCost: Int { if case .flat(let bytes) = content { bytes.count + 32 } else { 0 } }

  /// Calls `body` with the pieces of a part, in order, for one writev. They are valid as long as this value.
  public func forEachPiece(of range: Range<Int>, _ body: (UnsafeRawBufferPointer) -> Void) {
    var block: BodyBlock?
    switch content {
    case .blocks(let root): block = root
    case .flat(let bytes):
      let part = range.clamped(to: 0..<bytes.count)
      if !part.isEmpty { bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[part])) } }
    }
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
  /// If the length is not known, a block without bytes, so that readers can wait for the first one. nil: the body is not stored any more.
  private var root: BodyBlock?
  private var last: BodyBlock
  /// Taken for blocks to come.
  private var reserved: Int
  /// Taken for blocks that are there, as long as they are ours.
  private var used: Int
  /// Of the whole body; nil: unknown.
  private let length: Int?
  /// Capacity of all blocks so far.
  private var allocated = 0
  /// Blocks beside the ledger.
  private let spare = SpareBlocks()
  public private(set) var written = 0

  /// - Parameter length: of the body, if known: its memory is taken at once, so it cannot run out in the middle.
  /// - Returns: nil: no room.
  public init?(_ store: CacheStore, length: Int?) {
    let first = length.map { min($0, BodyBlock.size) } ?? 0
    var needed = first > 0 ? 0 : BodyBlock.cost(0)
    if let length {
      guard length <= store.ledger.limit else { return nil }
      needed += length + (length + BodyBlock.size - 1) / BodyBlock.size * BodyBlock.overhead
    }
    guard store.reserve(needed) else { return nil }
    store.flying(needed)
    self.store = store
    self.length = length
    let root = BodyBlock(capacity: first, ledger: store.ledger)
    self.root = root
    last = root
    allocated = first
    used = BodyBlock.cost(first)
    reserved = needed - used
  }

  deinit {
    if progress.current == .open { progress.end(.broken) }
    store.ledger.give(reserved)
    store.flying(-(reserved + used))
  }

  /// A reader from the beginning; nil: the beginning is gone.
  public func reader() -> BodyReader? { root.map { BodyReader(root: $0, progress: progress) } }

  /// - Returns: bytes taken. Fewer than there are: no room now. For a body that is stored, `FetchMachine.noRoom` says what to do; one that
  ///   is not has room as soon as its readers have passed what there is.
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

  private func makeBlock() -> BodyBlock? {
    let capacity = length.map { min(BodyBlock.size, $0 - allocated) } ?? (allocated == 0 ? BodyBlock.size / 8 : BodyBlock.size)
    guard capacity > 0 else { return nil }
    let cost = BodyBlock.cost(capacity)
    if length != nil {
      guard reserved >= cost else { return nil }
      reserved -= cost
    } else if store.reserve(cost) {
      if root != nil { store.flying(cost) }
    } else {
      // Others hold all memory, and their readers may be slow. This body is only passed on, as it would be without a store.
      guard root == nil, let block = spare.make(capacity) else { return nil }
      return block
    }
    if root != nil || length != nil { used += cost }
    allocated += capacity
    return BodyBlock(capacity: capacity, ledger: store.ledger)
  }

  /// It is too large, or must not be stored: from now on its blocks go as soon as all readers have passed them.
  public func release() {
    guard root != nil else { return }
    root = nil
    guard length == nil else { return }
    store.flying(-used)
    used = 0
  }

  /// The body has trailers, and is about to end.
  public func noteLastChunk(_ bytes: [UInt8]) { progress.note(BodyEnding(bytes)) }

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
    let stored = StoredBody(root: root, size: written, cost: used)
    // A short body in blocks for a longer one is copied: most are short.
    guard length == nil, written <= 4 * BodyBlock.size, allocated - written > written / 4,
      let copy = BodyWriter(store, length: written)
    else { return stored }
    stored.forEachPiece(of: 0..<written) { _ = copy.append($0) }
    return copy.finish() ?? stored
  }
}
