import Foundation
import Glibc

/// A pipe for a program's output. The test reads it for a while, then fills it completely.
final class DeafPipe {
  let writeEnd: Int32
  private let readEnd: Int32
  private var pending: [UInt8] = []

  init() throws {
    (readEnd, writeEnd) = try ChildProcess.newPipe()
  }
  deinit { for end in [readEnd, writeEnd] { close(end) } }

  /// The next line that contains all of these marks.
  func awaitLine(_ marks: String..., seconds: Double = 15) throws -> String {
    let deadline = Date(timeIntervalSinceNow: seconds)
    var block = [UInt8](repeating: 0, count: 65536)
    while Date() < deadline {
      while let end = pending.firstIndex(of: 10) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeFirst(end + 1)
        if marks.allSatisfy(line.contains) { return line }
      }
      var wanted = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
      guard poll(&wanted, 1, 100) == 1 else { continue }
      let count = read(readEnd, &block, block.count)
      if count > 0 { pending += block[..<count] }
    }
    throw HarnessError("no line with \(marks) within \(seconds) s")
  }

  /// Nobody reads any more, and there is no room. Uses its own descriptor, as the program's must stay blocking.
  func fill() throws {
    let own = open("/proc/self/fd/\(writeEnd)", O_WRONLY | O_NONBLOCK | O_CLOEXEC)
    guard own >= 0 else { throw HarnessError("open: \(String(cString: strerror(errno)))") }
    defer { close(own) }
    for size in [4096, 1] {
      let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: size)
      while write(own, bytes, size) > 0 {}
    }
  }
}
