import HTTPWire

extension OwnAnswer {
  /// The status of a gRPC call that has this answer ("HTTP to gRPC Status Code Mapping").
  var callStatus: Int {
    switch status {
    case 400: 13
    case 401, 407: 16
    case 403: 7
    case 404: 12
    case 429, 502, 503, 504: 14
    default: 2
    }
  }

  /// Writes it as the whole answer to a gRPC call: a head without messages.
  /// Takes at most 1 KiB more than `sizeLimit`.
  /// - Parameter dateLine: `Date: ...\r\n`, at most 64 bytes.
  public func writeToCall(by name: ProxyName, dateLine: [UInt8], into writer: inout ByteWriter) {
    writer.append("HTTP/1.1 200 OK\r\n")
    writer.append(dateLine)
    if error != nil { writer.append(proxyStatusOf: name, error: error, details: details, at: hop) }
    writer.append("Content-Type: application/grpc\r\n")
    writer.appendField("grpc-status", decimal: Int64(callStatus))
    writer.append("grpc-message: ")
    writer.append(
      (details ?? body).utf8.prefix(Self.messageLimit).flatMap { byte in
        0x20...0x7e ~= byte && byte != UInt8(ascii: "%")
          ? [byte] : [UInt8(ascii: "%"), Self.digit(byte >> 4), Self.digit(byte & 15)]
      })
    writer.append("\r\nContent-Length: 0\r\n\r\n")
  }

  /// Bytes of a message before it is encoded.
  private static let messageLimit = 200

  private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }
}
