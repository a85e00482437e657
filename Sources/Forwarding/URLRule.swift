import HTTPWire

/// Rewrites URLs below one place to URLs below another.
struct URLRule {
  /// `scheme://host[:port]` in lower case, without the scheme's default port.
  var from: [UInt8]
  /// `:port` if `from` omits it, as URLs may still contain it.
  var defaultPort: [UInt8]
  var to: [UInt8]

  /// nil if the URL is not below `from`.
  func replaced(_ url: UnsafeRawBufferPointer) -> [UInt8]? {
    guard url.count >= from.count, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: url[..<from.count]), from) else {
      return nil
    }
    var rest = url[from.count...]
    if !defaultPort.isEmpty, rest.starts(with: defaultPort) { rest = rest.dropFirst(defaultPort.count) }
    // `https://api.example.com.evil` and `https://api.example.com:444` are other places.
    if let next = rest.first, next != UInt8(ascii: "/"), next != UInt8(ascii: "?"), next != UInt8(ascii: "#") { return nil }
    return to + Array(rest)
  }

  /// `Link: <url>; rel=next, <url>; rel=last` (RFC 8288 section 3).
  func replacedLinks(_ value: UnsafeRawBufferPointer) -> [UInt8]? {
    var result: [UInt8] = []
    var hasChanged = false
    var index = 0
    while index < value.count {
      let byte = value[index]
      result.append(byte)
      index += 1
      guard byte == UInt8(ascii: "<"), let end = value[index...].firstIndex(of: UInt8(ascii: ">")) else { continue }
      let url = UnsafeRawBufferPointer(rebasing: value[index..<end])
      if let replacement = replaced(url) {
        result += replacement
        hasChanged = true
      } else {
        result += Array(url)
      }
      index = end
    }
    return hasChanged ? result : nil
  }
}
