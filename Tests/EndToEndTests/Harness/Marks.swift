import Foundation
import Testing

/// Requests that are told apart by no cache, and that say whose they are: the origin's /echo returns that in its answer. So each answer
/// shows whose request filled it, and when.
struct Marks {
  /// Whose request an answer was made for.
  struct Seen {
    let owner: String
    let number: Int
    /// What the origin got as our credential.
    let credential: String?
    let isHit: Bool
  }

  /// Of the last request.
  private(set) var number = 0

  /// One of our own clients, with the password NAME-5ecret.
  static func login(_ name: String) -> String {
    "Proxy-Authorization: Basic " + Data("\(name):\(name)-5ecret".utf8).base64EncodedString()
  }

  /// Settings with these clients.
  static func clients(_ names: String...) -> String {
    "clients: [\(names.map { "{name: \($0), password: \($0)-5ecret}" }.joined(separator: ", "))]"
  }

  /// nil: the proxy has answered itself.
  mutating func ask(_ proxy: ProxyProcess, _ url: String, as client: String, _ fields: [String] = []) throws -> Seen? {
    number += 1
    let owner = client + "." + url.split(separator: "/")[1]
    let own = [Self.login(client), "X-Request-Id: \(owner)/\(number)"]
    let answer = try proxy.ask(url, own + fields)
    guard answer.status == 200 else { return nil }
    let received = try answer.received()
    let words = (received["X-Request-Id"] ?? "").split(separator: "/")
    #expect(words.count == 2 && received.all("X-Request-Id").count == 1, "\(received.raw_head)")
    let isHit = answer.cacheStatus?.hasPrefix("hit") == true
    // What nobody stored is the asker's own.
    if !isHit { #expect(words.last.flatMap { Int($0) } == number) }
    // An answer never says who else has asked.
    #expect(words.first.map(String.init) == owner, "\(owner) got \(words)")
    return Seen(
      owner: String(words.first ?? ""), number: words.last.flatMap { Int($0) } ?? 0, credential: received["Authorization"],
      isHit: isHit)
  }
}
