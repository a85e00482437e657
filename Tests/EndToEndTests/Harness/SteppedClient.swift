import Foundation

/// A client that does one step after the other, over TCP, TLS and TLS in TLS. See steps.py.
final class SteppedClient {
  // swift-format-ignore: AlwaysUseLowerCamelCase, the names are those of the JSON
  struct Seen: Decodable {
    var version: String?
    var head: String?
    var body: String?
    var received: String?
    var end: String?
    var error: String?
    var resumed: Bool?

    var status: Int { head.flatMap { Int($0.split(separator: " ")[1]) } ?? 0 }
    func says(_ line: String) -> Bool { head?.lowercased().contains("\r\n" + line.lowercased()) == true }
  }

  private let child: ChildProcess

  init(_ port: Int) throws {
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/steps.py", "\(port)"])
    guard child.awaitLine(seconds: 30, where: { _ in true }) != nil else { throw HarnessError("steps.py: \(child.errors)") }
  }

  deinit { child.closeInput() }

  @discardableResult
  private func step(_ word: String, _ more: [String: String] = [:]) throws -> Seen {
    let count = child.lines.count
    let data = try JSONSerialization.data(withJSONObject: more.merging(["do": word]) { $1 })
    child.send(String(decoding: data, as: UTF8.self) + "\n")
    guard let line = child.awaitLine(from: count, seconds: 30, where: { _ in true }) else {
      throw HarnessError("steps.py: \(child.errors)")
    }
    return try JSONDecoder().decode(Seen.self, from: Data(line.utf8))
  }

  @discardableResult
  func tls(_ name: String, root: String, identity: (certificate: String, key: String)? = nil, version: String? = nil) throws
    -> Seen
  {
    var more = ["name": name, "ca": root]
    if let identity { (more["cert"], more["key"]) = (identity.certificate, identity.key) }
    if let version { more["version"] = version }
    return try step("tls", more)
  }

  func send(_ text: String) throws { try step("send", ["text": text]) }
  func read() throws -> Seen { try step("read") }
  func end() throws -> Seen { try step("end") }
  func fin() throws { try step("fin") }
  func keep() throws { try step("keep") }
  func begin(_ port: Int) throws { try step("begin", ["port": String(port)]) }

  /// Sends CONNECT, and reads its answer.
  func connect(_ target: String, password: String? = nil) throws -> Seen {
    let field = password.map { "Proxy-Authorization: Basic \(Data($0.utf8).base64EncodedString())\r\n" } ?? ""
    try send("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n\(field)\r\n")
    return try read()
  }

  func get(_ target: String, host: String = "api.test") throws -> Seen {
    try send("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
    return try read()
  }
}
