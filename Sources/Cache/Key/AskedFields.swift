import HTTPWire
import Synchronization

/// The fields by which requests are told apart, kept for as long as an answer's Vary may want them. Immutable, so that the loop which
/// fetches can compare the request of another loop, and requests that say the same share it.
public final class AskedFields: Sendable {
  private let reader: VariantReader
  // SAFETY: written before anybody else has this object, never after, and freed with it.
  /// The fields, and behind them their names and values, in one piece.
  nonisolated(unsafe) private let memory: UnsafeMutableRawPointer
  private let fieldCount: Int
  private let byteCount: Int
  private let own: [(name: [UInt8], value: [UInt8])]
  private let store: CacheStore?
  private let told = ToldList()

  /// - Parameters:
  ///   - fields: after `client_authorization` and `request_headers`; dropped ones do not count.
  ///   - own: as of `VariantReader.variant`.
  ///   - store: counts it; nil: nobody does.
  /// - Returns: nil: the store has no room.
  public init?(
    _ reader: VariantReader, _ fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer,
    own: [(name: [UInt8], value: [UInt8])] = [], of store: CacheStore?
  ) {
    var (count, size) = (0, 0)
    for field in fields where !field.dropped {
      count &+= 1
      size &+= field.name.count &+ field.value.count
    }
    if let store, !store.hold(Self.cost(count, size)) { return nil }
    self.store = store
    self.reader = reader
    self.own = own
    fieldCount = count
    byteCount = size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: Self.space(count) + size, alignment: 16)
    self.memory = memory
    let places = memory.bindMemory(to: Field.self, capacity: count)
    let bytes = memory + Self.space(count)
    var (index, end) = (0, 0)
    func keep(_ slice: ByteSlice) -> ByteSlice {
      let text = slice.bytes(in: head)
      if let start = text.baseAddress { (bytes + end).copyMemory(from: start, byteCount: text.count) }
      defer { end += text.count }
      return ByteSlice(start: end, count: text.count)
    }
    for field in fields where !field.dropped {
      let name = keep(field.name)
      (places + index).initialize(to: Field(name: name, value: keep(field.value), id: field.id))
      index += 1
    }
  }

  deinit {
    memory.deallocate()
    store?.letGo(Self.cost(fieldCount, byteCount))
  }

  private static func space(_ fields: Int) -> Int { max(fields, 1) * MemoryLayout<Field>.stride }
  private static func cost(_ fields: Int, _ bytes: Int) -> Int { 256 + space(fields) + bytes }

  private var fields: UnsafeBufferPointer<Field> {
    UnsafeBufferPointer(start: UnsafeRawPointer(memory).assumingMemoryBound(to: Field.self), count: fieldCount)
  }
  private var bytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: memory + Self.space(fieldCount), count: byteCount)
  }

  /// - Parameter recent: of the loop that asks.
  public func variant(_ vary: VaryNames, recent: RecentVariants? = nil) -> CacheDigest {
    if let known = told.variant(vary) { return known }
    let variant = reader.variant(of: fields, in: bytes, own: own, vary: vary, recent: recent)
    told.add(vary, variant)
    return variant
  }

  /// Whether a request with these fields is told apart as this one is, whatever Vary says.
  func saysSame(
    as fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer, by reader: VariantReader
  ) -> Bool {
    guard reader === self.reader, own.isEmpty else { return false }
    let (known, bytes) = (self.fields, self.bytes)
    var index = 0
    for field in fields where !field.dropped {
      guard index < known.count, field.id == known[index].id,
        equalBytes(field.value.bytes(in: head), known[index].value.bytes(in: bytes)),
        field.id != .other || equalBytes(field.name.bytes(in: head), known[index].name.bytes(in: bytes))
      else { return false }
      index &+= 1
    }
    return index == known.count
  }
}
