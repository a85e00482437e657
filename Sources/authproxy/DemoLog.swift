import CSystem
import EventIO
import JSON

/// A line of the proxy's log in its JSON format.
struct LogLine {
  private let members: [JSONValue.Member]

  init(_ line: [UInt8]) {
    if case .object(let members)? = try? JSONParser.parse(line) { self.members = members } else { members = [] }
  }

  subscript(key: String) -> String? { members.first { $0.name == key }.map { Self.text(of: $0.value) } }

  private static func text(of value: JSONValue) -> String {
    switch value {
    case .string(let text), .number(let text): text
    default: String(decoding: value.text, as: UTF8.self)
    }
  }

  /// The message, followed by the line's other fields.
  func text(without keys: Set<String>) -> String {
    let others = members.filter { $0.name != "message" && !keys.contains($0.name) }.sorted { $0.name < $1.name }
    return ([self["message"] ?? ""] + others.map { "\($0.name) \(Self.text(of: $0.value))" }).joined(separator: ", ")
  }
}

/// Reads the proxy's log from a pipe, and passes each line to the narrator.
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

  /// Registers with the loop; tries again after 100 ms if epoll has no room.
  override func expired(on loop: EventLoop) {
    if loop.register(descriptor, self, interest: CSYS_LEVEL_IN) == nil { loop.arm(self, afterMilliseconds: 100) }
  }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    var space = [UInt8](repeating: 0, count: 8 << 10)
    let count = csys_read(descriptor, &space, space.count)
    guard count > 0 else { return }
    pending += space[..<Int(count)]
    while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
      narrator.tell(logLine: Array(pending[..<end]))
      pending.removeFirst(end + 1)
    }
  }
}
