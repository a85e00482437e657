/// Whether a path may be compared with a configured prefix: what an origin server might resolve to another path than the one that was
/// compared is refused (dot segments, literal or encoded and with a `;` parameter behind; `%2f`, `%5c`, `\`, `//`).
/// - Throws: `ambiguousPath`.
public func checkPath(_ path: Slice, in head: UnsafeRawBufferPointer) throws(HeadError) {
  let bytes = path.bytes(in: head)
  // Where the current segment stands: only dots so far, and how many; nil once something else was in it.
  var dots: Int? = nil
  var index = 0
  while index < bytes.count {
    var byte = bytes[index]
    var encoded = false
    if byte == ASCII.percent, index + 2 < bytes.count,
      let high = ASCII.hexValue(bytes[index + 1]), let low = ASCII.hexValue(bytes[index + 2])
    {
      byte = high << 4 | low
      encoded = true
      index += 2
    }
    index += 1
    switch byte {
    case ASCII.backslash: throw .ambiguousPath
    case ASCII.slash:
      if encoded { throw .ambiguousPath }
      if let dots, dots < 3 {
        // 0: `//`; 1 and 2: `/./`, `/../`. The slash that begins the path has no segment before it.
        throw .ambiguousPath
      }
      dots = 0
    case ASCII.dot: if let count = dots { dots = count + 1 }
    case ASCII.semicolon:
      // Servlet containers cut the parameter off before they look for dots.
      if let dots, dots < 3 { throw .ambiguousPath }
      dots = nil
    default: dots = nil
    }
  }
  if let dots, 1...2 ~= dots { throw .ambiguousPath }
}
