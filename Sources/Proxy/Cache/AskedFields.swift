import Cache
import HTTPWire

/// The fields by which requests are told apart, kept for as long as an answer's Vary may want them. Immutable, so that the loop which
/// fetches can compare the request of another loop.
final class AskedFields: Sendable {
  private let reader: VariantReader
  private let fields: ContiguousArray<Field>
  /// The app's head.
  private let head: [UInt8]
  private let own: [(name: [UInt8], value: [UInt8])]
  private let memory: HeldMemory

  /// - Parameter store: counts it.
  /// - Returns: nil: the store has no room.
  init?(
    _ reader: VariantReader, _ fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer,
    own: [(name: [UInt8], value: [UInt8])], of store: CacheStore
  ) {
    guard let memory = HeldMemory(store, 256 + head.count + fields.count * MemoryLayout<Field>.stride) else { return nil }
    self.memory = memory
    self.reader = reader
    self.fields = fields
    self.head = Array(head)
    self.own = own
  }

  func variant(_ vary: VaryNames) -> CacheDigest { variant(vary, recent: nil) }

  /// - Parameter recent: of the loop that asks.
  func variant(_ vary: VaryNames, recent: RecentVariants?) -> CacheDigest {
    head.withUnsafeBytes { reader.variant(of: fields, in: $0, own: own, vary: vary, recent: recent) }
  }
}
