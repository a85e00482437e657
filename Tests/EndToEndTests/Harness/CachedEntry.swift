import Foundation

/// Answers that may be stored, and what the proxy says about them.
extension Origin {
  /// Each exchange of this name is answered so: 200 with these fields, and a body that says which exchange it is.
  func answers(_ name: String, _ fields: String..., bodies: [String] = ["first", "second", "third"]) throws {
    let lines = fields.map { $0 + "\r\n" }.joined()
    let body = String(
      decoding: try JSONEncoder().encode(
        bodies.map { [Step.readBody, .send("HTTP/1.1 200 OK\r\n\(lines)Content-Length: \($0.utf8.count)\r\n\r\n\($0)")] }),
      as: UTF8.self)
    _ = try ask("/script?name=\(name)", body, as: Nothing.self)
  }
}

extension Answer {
  /// The proxy's member of Cache-Status, without its name.
  var cacheStatus: String? {
    for member in all("Cache-Status") where member.hasPrefix("authproxy; ") { return String(member.dropFirst(11)) }
    return nil
  }
}
