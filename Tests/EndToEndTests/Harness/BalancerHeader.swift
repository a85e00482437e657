/// PROXY headers as load balancers send them, and as they should not.
enum BalancerHeader {
  /// Version 1, over the family of the address.
  static func line(_ source: String, port: Int = 40_000) -> [UInt8] {
    let isSix = source.contains(":")
    return Array("PROXY \(isSix ? "TCP6" : "TCP4") \(source) \(isSix ? "::1" : "127.0.0.1") \(port) 3128\r\n".utf8)
  }

  static let unknown = Array("PROXY UNKNOWN\r\n".utf8)
  static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

  /// Version 2.
  /// - Parameter length: what the header says; nil: the truth.
  static func block(command: UInt8 = 0x21, family: UInt8, _ addresses: [UInt8], tlvs: [UInt8] = [], length: Int? = nil)
    -> [UInt8]
  {
    let length = length ?? addresses.count + tlvs.count
    return signature + [command, family, UInt8(length >> 8), UInt8(length & 0xff)] + addresses + tlvs
  }

  /// Version 2, TCP over IPv4 from port 40,000.
  static func block(_ source: (UInt8, UInt8, UInt8, UInt8), tlvs: [UInt8] = []) -> [UInt8] {
    block(family: 0x11, addresses(source), tlvs: tlvs)
  }

  static func addresses(_ source: (UInt8, UInt8, UInt8, UInt8)) -> [UInt8] {
    [source.0, source.1, source.2, source.3, 127, 0, 0, 1, 0x9c, 0x40, 0x0c, 0x38]
  }

  /// Version 2, TCP over IPv6 from [2001:db8::7]:40000.
  static let six = block(
    family: 0x21, [0x20, 0x01, 0x0d, 0xb8] + zeros(11) + [7] + zeros(15) + [1] + [0x9c, 0x40, 0x0c, 0x38])
  /// Version 2, from a unix socket.
  static let unix = block(family: 0x31, Array("/run/app.sock".utf8) + zeros(95 + 108))
  static let local = block(command: 0x20, family: 0, [])

  /// One TLV of this many bytes, with what looks like a header and a request in it.
  static func tlv(_ count: Int) -> [UInt8] {
    let content = (0..<count).map { Array("PROXY UNKNOWN\r\nGET / HTTP/1.1\r\n\r\n".utf8)[$0 % 33] }
    return [0xe0, UInt8(count >> 8), UInt8(count & 0xff)] + content
  }

  private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}

extension RawConnection {
  /// Sends without an error if the peer has closed already.
  func trySend(_ bytes: [UInt8]) { try? send(bytes) }
}
