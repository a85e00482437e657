import HTTPWire

/// A 1xx response's head as it goes to the app, 101 aside: see `OutboundResponse`.
public struct InterimResponse {
  /// Marks what of the head does not go on. nil: it is not for this app.
  /// - Parameter awaitsContinue: the app waits for a 100.
  public init?(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, to request: OutboundRequest, awaitsContinue: Bool
  ) {
    // RFC 9110 section 15.2: not to HTTP/1.0; a 100 only to who asked for it.
    guard request.isHTTP11, head.status != 100 || awaitsContinue else { return nil }
    head.markHopByHop(in: bytes, keepUpgrade: false)
    // Who answered is said by the final one; a member under our name would be forged.
    head.fields.drop(.proxyStatus)
  }

  /// Bytes that `write` takes at most.
  public func sizeLimit(of head: borrowing ResponseHead, rules: ForwardingRules) -> Int {
    head.reason.count + head.fields.keptSize + 64 + rules.name.viaLine.count
  }

  public func write(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules, into writer: inout ByteWriter
  ) {
    writer.append(statusLineOf: head, in: bytes)
    writer.append(fieldsOf: head.fields, in: bytes)
    writer.append(viaOf: rules.name, minorVersion: head.minorVersion)
    writer.appendCRLF()
  }
}
