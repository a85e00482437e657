import CSystem
import Credentials
import Dispatch
import Synchronization

enum StandardInput {
  /// Bytes; a longer line is no answer of a server.
  private static let longestLine = 16 << 10

  /// Reads until its end, on a thread of its own.
  /// - Parameter deliver: called there with each line, without its line break.
  static func readLines(_ deliver: @escaping @Sendable (Secret) -> Void) {
    DispatchQueue(label: "standard input").async {
      var line: [UInt8] = []
      var block = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = csys_read(0, &block, block.count)
        guard count > 0 else {
          // The last line may lack its line break.
          if !line.isEmpty { deliver(Secret(line)) }
          return
        }
        for byte in block[..<Int(count)] {
          if byte == UInt8(ascii: "\n") {
            deliver(Secret(line))
            line = []
          } else if line.count < longestLine {
            line.append(byte)
          }
        }
      }
    }
  }
}

/// A place for one value, taken once.
final class Latch<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  func put(_ next: Value) { value.withLock { $0 = next } }
  func take() -> Value? {
    value.withLock { value in
      defer { value = nil }
      return value
    }
  }
}
