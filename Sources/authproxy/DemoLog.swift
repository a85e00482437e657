import CSystem
import EventIO

/// A line of the proxy's log in its text format: `key=value`, values with special characters in JSON's quotes.
struct LogLine {
  private var values: [Substring: String] = [:]

  init(_ line: String) {
    var rest = line[...]
    while let equals = rest.firstIndex(of: "=") {
      let key = rest[..<equals].drop { $0 == " " }
      rest = rest[rest.index(after: equals)...]
      if rest.first == "\"" {
        var value = ""
        var isEscaped = false
        rest = rest.dropFirst()
        while let character = rest.popFirst() {
          if !isEscaped, character == "\"" { break }
          isEscaped = !isEscaped && character == "\\"
          if !isEscaped { value.append(character) }
        }
        values[key] = value
      } else {
        let value = rest.prefix { $0 != " " }
        values[key] = String(value)
        rest = rest[value.endIndex...]
      }
    }
  }

  subscript(key: Substring) -> String? { values[key] }

  /// The message, and after it all else that the line holds.
  func text(without keys: Set<Substring>) -> String {
    let others = values.filter { $0.key != "message" && !keys.contains($0.key) }.sorted { $0.key < $1.key }
    return ([self["message"] ?? ""] + others.map { "\($0.key) \($0.value)" }).joined(separator: ", ")
  }
}

/// Reads the proxy's log from the pipe that it is written to, and hands on each line.
final class DemoLogReader: EventHandler {
  private let descriptor: Int32
  private let narrator: DemoNarrator
  private var pending: [UInt8] = []

  init(_ descriptor: Int32, on loop: EventLoop, _ narrator: DemoNarrator) {
    self.descriptor = descriptor
    self.narrator = narrator
    super.init()
    expired(on: loop)
  }

  /// Without room for its registration it tries again.
  override func expired(on loop: EventLoop) {
    if loop.register(descriptor, self, interest: CSYS_LEVEL_IN) == nil { loop.arm(self, afterMilliseconds: 100) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    var space = [UInt8](repeating: 0, count: 8 << 10)
    let count = csys_read(descriptor, &space, space.count)
    guard count > 0 else { return }
    pending += space[..<Int(count)]
    while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
      narrator.tell(logLine: String(decoding: pending[..<end], as: UTF8.self))
      pending.removeFirst(end + 1)
    }
  }
}
