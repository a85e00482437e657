/// The end of the head at the front of what was written for HTTP/1.1; nil: there is none.
public func headEnd(_ bytes: UnsafeRawBufferPointer) -> Int? {
  var index = 3
  while index < bytes.count {
    if bytes[index] == 0x0a, bytes[index - 1] == 0x0d, bytes[index - 2] == 0x0a { return index + 1 }
    index += 1
  }
  return nil
}
