import CGSSAPI

/// The object identifiers of the mechanisms. The library keeps pointers to them, so they live as long as the process.
enum Mechanism {
  // SAFETY: written once, before anybody has it, and only read afterwards.
  /// 1.3.6.1.5.5.2
  nonisolated(unsafe) static let spnego = make([0x2b, 0x06, 0x01, 0x05, 0x05, 0x02])
  // SAFETY: as above.
  /// 1.2.840.113554.1.2.2
  nonisolated(unsafe) static let kerberos = make([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02])
  // SAFETY: as above.
  /// A principal's text: 1.2.840.113554.1.2.2.1
  nonisolated(unsafe) static let principalName = make([0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 0x01, 0x02, 0x02, 0x01])

  private static func make(_ bytes: [UInt8]) -> UnsafeMutablePointer<gss_OID_desc> {
    let elements = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 1)
    elements.copyMemory(from: bytes, byteCount: bytes.count)
    let identifier = UnsafeMutablePointer<gss_OID_desc>.allocate(capacity: 1)
    identifier.initialize(to: gss_OID_desc(length: OM_uint32(bytes.count), elements: elements))
    return identifier
  }
}
