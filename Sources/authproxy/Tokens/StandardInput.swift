import CSystem
import Credentials
import Dispatch

enum StandardInput {
  /// Bytes; a longer line is no answer of a server.
  private static let longestLine = 16 << 10

  /// Reads until its end, on a thread of its own. In a background job of a shell there is nothing to read.
  /// - Parameter deliver: called there with each line, without its line break.
  static func readLines(_ deliver: @escaping @Sendable (Secret) -> Void) {
    // Its default would stop the whole login.
    csys_ignore_signal(SIGTTIN)
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
