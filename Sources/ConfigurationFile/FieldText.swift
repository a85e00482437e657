/// Character rules for values of the configuration that the proxy writes into HTTP fields.
enum FieldText {
  /// token, RFC 9110 section 5.6.2.
  static func isToken(_ text: String) -> Bool {
    !text.isEmpty
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }

  /// field-value, RFC 9110 section 5.5: no controls but the tab within.
  static func isFieldValue(_ bytes: [UInt8]) -> Bool {
    guard let first = bytes.first, let last = bytes.last else { return true }
    if [first, last].contains(where: { $0 == 0x20 || $0 == 0x09 }) { return false }
    return bytes.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) }
  }

  /// user-id and password, RFC 7617 section 2: no controls.
  static func hasNoControls(_ bytes: some Sequence<UInt8>) -> Bool { bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f } }

  /// Fields of framing, routing or a single hop, which cannot carry a credential.
  static let reserved: Set<String> = [
    "connection", "content-length", "content-type", "expect", "host", "keep-alive", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "proxy-status", "te", "trailer", "transfer-encoding", "upgrade", "via",
  ]

  /// Those that say something about one hop, or that a later hop may write anew: a signature cannot cover them.
  static let ofOneHop: Set<String> = reserved.subtracting(["content-type"]).union(["proxy-authentication-info", "max-forwards"])
}
