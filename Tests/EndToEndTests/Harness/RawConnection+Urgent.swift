import Glibc

extension RawConnection {
  /// Sends both texts, with a byte of TCP urgent data between them.
  func send(_ before: String, urgentByteThen behind: String) throws {
    try send(before)
    var mark: UInt8 = 33
    guard Glibc.send(descriptor, &mark, 1, Int32(MSG_OOB) | Int32(MSG_NOSIGNAL)) == 1 else {
      throw HarnessError("send: \(String(cString: strerror(errno)))")
    }
    try send(behind)
  }
}
