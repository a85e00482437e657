import HTTPWire

/// What apps have said lately to tell their requests apart. Most apps send the same fields with each request, which then need not be read
/// and kept anew. Confined to a loop, which owns it.
public final class RecentRequests {
  private static let count = 16
  /// Bytes of the fields that are kept.
  private static let limit = 1024

  private var known = [AskedFields?](repeating: nil, count: RecentRequests.count)

  public init() {}

  /// - Returns: nil: one of the fields may be a secret, or be another one each time.
  public func find(
    _ reader: VariantReader, _ fields: ContiguousArray<Field>, in head: UnsafeRawBufferPointer
  ) -> AskedFields? {
    // Of similar requests, some place: two that share one only cost more.
    var mix = UInt64(UInt(bitPattern: ObjectIdentifier(reader)))
    for field in fields where !field.dropped { mix = mix &* 31 &+ UInt64(field.value.count) }
    let place = Int(truncatingIfNeeded: (mix &* 0x9e37_79b9_7f4a_7c15) >> 60)
    if let asked = known[place], asked.saysSame(as: fields, in: head, by: reader) { return asked }
    var size = 0
    for field in fields where !field.dropped {
      guard HarmlessFields.lasts(field, in: head), !reader.isOfCredential(field.name.bytes(in: head)) else { return nil }
      size += field.name.count + field.value.count
    }
    guard size <= Self.limit, let asked = AskedFields(reader, fields, in: head, of: nil) else { return nil }
    known[place] = asked
    return asked
  }
}
