import Foundation

/// Chromium, with one page. See browser.py.
final class Browser {
  struct Seen: Decodable {
    let urls: [String]
    let texts: [String]
    let dialogs: [String]
  }

  private struct Reply<Value: Decodable>: Decodable {
    let value: Value?
    let error: String?
  }

  private let child: ChildProcess

  init() throws {
    child = try ChildProcess(Surroundings.python, [Peer.programs + "/browser.py"])
    guard child.awaitLine(seconds: 60, where: { $0 == "ready" }) != nil else {
      throw HarnessError("browser.py: \(child.errors)")
    }
  }

  /// It ends the browser.
  deinit {
    child.closeInput()
    _ = child.awaitEnd(seconds: 10)
  }

  private func step<Value: Decodable>(_ word: String, _ more: [String: Any], as: Value.Type) throws -> Value? {
    let count = child.lines.count
    let data = try JSONSerialization.data(withJSONObject: more.merging(["do": word]) { $1 })
    child.send(String(decoding: data, as: UTF8.self) + "\n")
    guard let line = child.awaitLine(from: count, seconds: 120, where: { _ in true }) else {
      throw HarnessError("browser.py: \(child.errors)")
    }
    let reply = try JSONDecoder().decode(Reply<Value>.self, from: Data(line.utf8))
    if let error = reply.error { throw HarnessError("\(word): \(error)") }
    return reply.value
  }

  func open(_ url: String, width: Int = 1280, scheme: String = "light", script: Bool = true) throws {
    _ = try step("open", ["url": url, "width": width, "scheme": scheme, "script": script], as: Bool.self)
  }

  /// The value of an expression.
  func text(_ expression: String) throws -> String {
    try step("eval", ["text": "String(\(expression))"], as: String.self) ?? ""
  }
  func number(_ expression: String) throws -> Double { try step("eval", ["text": expression], as: Double.self) ?? .nan }
  func isTrue(_ expression: String) throws -> Bool { try step("eval", ["text": "!!(\(expression))"], as: Bool.self) ?? false }

  /// Whether it becomes true.
  func comes(_ expression: String, seconds: Double = 30) throws -> Bool {
    try step("wait", ["text": "!!(\(expression))", "seconds": seconds], as: Bool.self) ?? false
  }

  func seen() throws -> Seen {
    guard let seen = try step("seen", [:], as: Seen.self) else { throw HarnessError("nothing seen") }
    return seen
  }

  /// Seconds of processor time that the page's thread has used.
  func busy() throws -> Double { try step("busy", [:], as: Double.self) ?? .nan }

  // MARK: The dashboard

  /// What a reader sees of a section.
  func section(_ id: String) throws -> String { try text("document.getElementById('\(id)').closest('section').innerText") }
}
