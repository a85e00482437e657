import HTTPWire

extension ProxyName {
  /// A line of Proxy-Status for an answer that is no failure.
  public func statusLine(details: String) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: ByteWriter.sizeLimit(ofProxyStatus: self, error: nil, details: details)) {
      var writer = ByteWriter(UnsafeMutableRawBufferPointer($0))
      writer.append(proxyStatusOf: self, error: nil, details: details)
      $1 = writer.count
    }
  }
}

/// The proxy's member of Proxy-Status (RFC 9209).
extension ByteWriter {
  /// `Proxy-Status: <name>; error=...; details="..."`.
  /// - Parameters:
  ///   - details: without secrets. Characters that a Structured Fields string cannot contain become `?`.
  ///   - hop: where it went wrong; nil: at the origin, or here.
  ///   - isHTTP2: the origin was asked over HTTP/2 (RFC 9209 section 2.1.3).
  mutating func append(
    proxyStatusOf name: ProxyName, error: StaticString?, details: String?, at hop: OwnAnswer.Hop? = nil, isHTTP2: Bool = false
  ) {
    append("Proxy-Status: ")
    append(name.bytes)
    if let error {
      append("; error=")
      append(error)
    }
    if let hop {
      append("; next-hop=\"")
      append(quoting: hop.name)
      append("\"")
      if let status = hop.status {
        append("; received-status=")
        appendDecimal(status)
      }
    }
    if isHTTP2 { append("; next-protocol=h2") }
    if let details {
      append("; details=\"")
      append(quoting: details)
      append("\"")
    }
    appendCRLF()
  }

  /// Most bytes that this takes.
  static func sizeLimit(
    ofProxyStatus name: ProxyName, error: StaticString?, details: String?, at hop: OwnAnswer.Hop? = nil
  ) -> Int {
    60 + name.bytes.count + (error?.utf8CodeUnitCount ?? 0) + (details?.utf8.count ?? 0) * 2
      + (hop.map { 64 + $0.name.utf8.count * 2 } ?? 0)
  }

  /// The content of a Structured Fields string (RFC 8941 section 3.3.3), bounded.
  private mutating func append(quoting text: String) {
    for scalar in text.unicodeScalars.prefix(300) {
      switch scalar {
      case "\"", "\\":
        append(byte: UInt8(ascii: "\\"))
        append(byte: UInt8(truncatingIfNeeded: scalar.value))
      case " "..."~": append(byte: UInt8(truncatingIfNeeded: scalar.value))
      default: append(byte: UInt8(ascii: "?"))
      }
    }
  }
}
