/// The end of the head at the front of what was written for HTTP/1.1; nil: there is none.
public func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
  var index = 0
  while index < bytes.count {
    guard let found = firstIndex(of: ASCII.lf, in: UnsafeRawBufferPointer(rebasing: bytes[index...])) else { return nil }
    let end = index + found
    if end >= 3, bytes[end - 1] == ASCII.cr, bytes[end - 2] == ASCII.lf { return end + 1 }
    index = end + 1
  }
  return nil
}
