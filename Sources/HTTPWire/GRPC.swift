/// What an HTTP message says of the gRPC call that it is (gRPC over HTTP/2, "Requests" and "Responses").
extension RequestHead {
  /// `application/grpc`, or with a suffix.
  public func isCall(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard let type = fields.first(.contentType)?.value.bytes(in: bytes) else { return false }
    let name: StaticString = "application/grpc"
    let count = name.utf8CodeUnitCount
    guard type.count >= count,
      equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: type[..<count]), name)
    else { return false }
    return type.count == count || type[count] == UInt8(ascii: "+") || type[count] == UInt8(ascii: ";")
  }

  /// Nanoseconds, a year: what an app can say besides, 99,999,999 hours, is more than a clock can count.
  private static let longestCall: Int64 = 365 * 86_400 * 1_000_000_000

  /// `grpc-timeout` in nanoseconds: up to eight digits and a unit; nil: none, or it is no such value. At most a year.
  public func callTimeout(in bytes: UnsafeRawBufferPointer) -> Int64? {
    guard let value = field(named: "grpc-timeout", in: bytes), 2...9 ~= value.count else { return nil }
    var number: Int64 = 0
    for byte in value.dropLast() {
      guard ASCII.isDigit(byte) else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    let unit: Int64
    switch value[value.count - 1] {
    case UInt8(ascii: "H"): unit = 3_600_000_000_000
    case UInt8(ascii: "M"): unit = 60_000_000_000
    case UInt8(ascii: "S"): unit = 1_000_000_000
    case UInt8(ascii: "m"): unit = 1_000_000
    case UInt8(ascii: "u"): unit = 1_000
    case UInt8(ascii: "n"): unit = 1
    default: return nil
    }
    return min(number, Self.longestCall / unit) * unit
  }

  private func field(named name: StaticString, in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    fields.first { $0.name.equalsIgnoringCase(name, in: bytes) }?.value.bytes(in: bytes)
  }
}

extension ResponseHead {
  /// A call is refused for its credential: UNAUTHENTICATED, in the head, as no message comes.
  public func refusesCall(in bytes: UnsafeRawBufferPointer) -> Bool {
    status == 200
      && fields.contains { $0.name.equalsIgnoringCase("grpc-status", in: bytes) && $0.value.equals("16", in: bytes) }
  }
}
