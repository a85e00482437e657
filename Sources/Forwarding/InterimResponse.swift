import HTTPWire

/// A 1xx response's head for the app. For 101 see `OutboundResponse`.
public struct InterimResponse {
  /// Lines that replace fields of the origin: a 103 has links.
  private let rewritten: [UInt8]
  /// It was received over HTTP/2.
  private let isHTTP2: Bool

  /// Marks the fields that are not forwarded, those that `response_headers` takes out, too. nil: this app must not get the response.
  /// - Parameters:
  ///   - awaitsContinue: the app waits for a 100.
  ///   - asked: the authority that the app requested.
  ///   - redirected: lines that redirects before it have added.
  ///   - isHTTP2: it came over HTTP/2.
  public init?(
    _ head: inout ResponseHead, in bytes: UnsafeRawBufferPointer, to request: OutboundRequest, awaitsContinue: Bool,
    of origin: OriginAuthority, rules: ForwardingRules, asked: @autoclosure () -> String, behind redirected: [UInt8] = [],
    isHTTP2: Bool = false
  ) {
    // RFC 9110 section 15.2: never to HTTP/1.0; a 100 only to an app that asked for it.
    guard request.isHTTP11, head.status != 100 || awaitsContinue else { return nil }
    head.markHopByHop(in: bytes, keepUpgrade: false)
    rules.responseHeaders?.mark(&head.fields, in: bytes)
    self.isHTTP2 = isHTTP2
    rewritten = redirected + rules.rewritten(&head, in: bytes, of: origin, asked: asked())
    // Only the final response says who answered. A member with the proxy's name here would be forged.
    head.fields.drop(.proxyStatus)
  }

  /// Most bytes that `write` needs.
  public func sizeLimit(of head: borrowing ResponseHead, rules: ForwardingRules) -> Int {
    head.reason.count + head.fields.keptSize + rewritten.count + 64 + rules.name.viaLine.count
  }

  public func write(
    _ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, rules: ForwardingRules, into writer: inout ByteWriter
  ) {
    writer.append(statusLineOf: head, in: bytes)
    writer.append(fieldsOf: head.fields, in: bytes)
    if !rewritten.isEmpty { writer.append(rewritten) }
    writer.append(viaOf: rules.name, minorVersion: head.minorVersion, isHTTP2: isHTTP2)
    writer.appendCRLF()
  }
}
