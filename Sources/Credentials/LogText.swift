/// Makes untrusted text safe for a log line, a header field or a page.
public enum LogText {
  public static let maximumLength = 200

  /// Visible ASCII and spaces, without quotes and backslash, cut at `limit`. Replaces everything else by `?`.
  public static func bounded(_ text: String, limit: Int = maximumLength) -> String {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      guard bytes.count < limit else {
        bytes += Array("...".utf8)
        break
      }
      switch scalar.value {
      case 0x20, 0x21, 0x23...0x5b, 0x5d...0x7e: bytes.append(UInt8(scalar.value))
      default: bytes.append(UInt8(ascii: "?"))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Like `bounded`, after replacing each of `secrets`, also in a form's encoding, as servers quote what they received.
  public static func bounded(_ text: String, hiding secrets: [Secret]) -> String {
    var bytes = Array(text.utf8)
    let hidden = secrets.flatMap { [$0.bytes, FormEncoding.encode($0.bytes)] }
    for secret in hidden.sorted(by: { $0.count > $1.count }) where secret.count >= 4 {
      var index = 0
      while index + secret.count <= bytes.count {
        if bytes[index..<index + secret.count].elementsEqual(secret) {
          bytes.replaceSubrange(index..<index + secret.count, with: "***".utf8)
          index += 3
        } else {
          index += 1
        }
      }
    }
    return bounded(String(decoding: bytes, as: UTF8.self))
  }
}
