import CNGHTTP2
import HTTPWire

/// The fields of a head or a trailer section as nghttp2 takes them: pointers into bytes that others own, valid until it has copied them.
struct FieldList: ~Copyable {
  private(set) var count = 0
  /// Bytes of names and values, and 32 for each field.
  private(set) var size = 0
  private var capacity = 64
  private(set) var fields: UnsafeMutablePointer<nghttp2_nv>

  init() { fields = .allocate(capacity: capacity) }

  deinit { fields.deallocate() }

  mutating func clear() {
    count = 0
    size = 0
  }

  /// - Parameter indexed: whether the peer may keep it in its dynamic table. nghttp2 turns names into lower case.
  @inline(__always)
  mutating func append(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, indexed: Bool) {
    if count == capacity { grow() }
    // nghttp2 writes into neither, and never reads the pointer of an empty value.
    (fields + count).initialize(
      to: nghttp2_nv(
        name: UnsafeMutableRawPointer(mutating: name.baseAddress ?? Self.nothing).assumingMemoryBound(to: UInt8.self),
        value: UnsafeMutableRawPointer(mutating: value.baseAddress ?? Self.nothing).assumingMemoryBound(to: UInt8.self),
        namelen: name.count, valuelen: value.count,
        flags: indexed ? UInt8(NGHTTP2_NV_FLAG_NONE.rawValue) : UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)))
    count += 1
    size += name.count + value.count + 32
  }

  @inline(__always)
  mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer, indexed: Bool) {
    append(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), value, indexed: indexed)
  }

  mutating func append(_ name: StaticString, _ value: StaticString, indexed: Bool) {
    append(name, UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount), indexed: indexed)
  }

  /// Appends the fields of an HTTP/1.1 message that HTTP/2 also has (RFC 9113 section 8.2.2).
  /// - Parameter marked: never indexed here.
  mutating func append(
    _ list: ContiguousArray<Field>, of head: UnsafeRawBufferPointer, secretFrom: Int, marked: IndexedNames
  ) {
    for field in list where !field.dropped {
      let name = field.name.bytes(in: head)
      switch field.id {
      case .host, .connection, .http2Settings, .keepAlive, .proxyConnection, .transferEncoding, .upgrade: continue
      case .te:
        if field.value.equalsIgnoringCase("trailers", in: head) { append("te", "trailers", indexed: false) }
        continue
      default: break
      }
      let indexed = IndexedNames(field.id, name).subtracting(marked)
      append(name, field.value.bytes(in: head), indexed: !indexed.isEmpty && field.name.start < secretFrom)
    }
  }

  private static var nothing: UnsafeRawPointer { UnsafeRawPointer(("" as StaticString).utf8Start) }

  private mutating func grow() {
    let larger = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: capacity * 2)
    larger.moveInitialize(from: fields, count: count)
    fields.deallocate()
    fields = larger
    capacity *= 2
  }
}
