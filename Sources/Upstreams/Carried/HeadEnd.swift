import Glibc

/// The end of the head at the front of what was written for HTTP/1.1; nil: there is none.
public func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
  guard let base = bytes.baseAddress else { return nil }
  var index = 0
  while index < bytes.count, let found = memchr(base + index, 0x0a, bytes.count - index) {
    let end = UnsafeRawPointer(found) - base
    if end >= 3, bytes[end - 1] == 0x0d, bytes[end - 2] == 0x0a { return end + 1 }
    index = end + 1
  }
  return nil
}
