import Cache
import HTTPWire

/// The fields by which requests are told apart, kept for as long as an answer's Vary may want them. Immutable, so that the loop which
/// fetches can compare the request of another loop.
final class AskedFields: Sendable {
  private let reader: VariantReader
  // SAFETY: written before anybody else has this object, never after, and freed with it.
  /// The fields, and behind them the app's head, in one piece.
  nonisolated(unsafe) private let memory: UnsafeMutableRawPointer
  private let fieldCount: Int
  private let headCount: Int
  private let own: [(name: [UInt8], value: [UInt8])]
  private let store: CacheStore

  /// - Parameter store: counts it.
  /// - Returns: nil: the store has no room.
  init?(
    _ reader: VariantReader, _ fields: borrowing ContiguousArray<Field>, in head: UnsafeRawBufferPointer,
    own: [(name: [UInt8], value: [UInt8])], of store: CacheStore
  ) {
    guard store.hold(Self.cost(fields.count, head.count)) else { return nil }
    self.store = store
    self.reader = reader
    self.own = own
    fieldCount = fields.count
    headCount = head.count
    let size = fields.count * MemoryLayout<Field>.stride
    memory = .allocate(byteCount: size + head.count, alignment: 16)
    fields.withUnsafeBytes { memory.copyMemory(from: $0.baseAddress ?? UnsafeRawPointer(memory), byteCount: $0.count) }
    if let bytes = head.baseAddress { (memory + size).copyMemory(from: bytes, byteCount: head.count) }
  }

  deinit {
    memory.deallocate()
    store.letGo(Self.cost(fieldCount, headCount))
  }

  private static func cost(_ fields: Int, _ head: Int) -> Int { 256 + head + fields * MemoryLayout<Field>.stride }

  func variant(_ vary: VaryNames) -> CacheDigest { variant(vary, recent: nil) }

  /// - Parameter recent: of the loop that asks.
  func variant(_ vary: VaryNames, recent: RecentVariants?) -> CacheDigest {
    let size = fieldCount * MemoryLayout<Field>.stride
    let fields = UnsafeBufferPointer(start: UnsafeRawPointer(memory).assumingMemoryBound(to: Field.self), count: fieldCount)
    let head = UnsafeRawBufferPointer(start: memory + size, count: headCount)
    return reader.variant(of: fields, in: head, own: own, vary: vary, recent: recent)
  }
}
