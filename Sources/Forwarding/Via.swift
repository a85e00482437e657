import HTTPWire

// Every message that is forwarded says that it came through here: requests (`OutboundRequest.write`), responses
// (`OutboundResponse.write`) and interim responses (`InterimResponse.write`) call this. A request whose Via already names this proxy
// has come in a circle: `RequestHead.checkForwarding`.

extension ByteWriter {
  /// Via names the version in which the message was received (RFC 9110 section 7.6.3).
  /// - Parameter isHTTP2: whatever the minor version of its HTTP/1.1 form is.
  mutating func append(viaOf name: ProxyName, minorVersion: UInt8, isHTTP2: Bool = false) {
    append(isHTTP2 ? name.newViaLine : minorVersion == 0 ? name.oldViaLine : name.viaLine)
  }
}
