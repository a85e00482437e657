import Foundation
import Testing

/// One origin of a list, which can be killed and brought back at its port. See listed_origin.py.
final class ListedOrigin: Sendable {
  enum Mode: String, CaseIterable { case serve, close, hang, swallow, mute, garbage, half, early, hint, picky, wrong, busy }

  let scheme: String
  let port: Int
  private let child: Monitor<ChildProcess>

  init(_ scheme: String = "https", _ mode: Mode = .serve) throws {
    self.scheme = scheme
    let (child, port) = try Self.start(scheme, 0)
    (self.child, self.port) = (Monitor(child), port)
    if mode != .serve { try set(mode) }
  }

  deinit { kill() }

  private static func start(_ scheme: String, _ port: Int) throws -> (ChildProcess, Int) {
    let child = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/listed_origin.py", try Surroundings.pki(), scheme, String(port)])
    guard let bound = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("listed_origin.py: \(child.errors)")
    }
    return (child, bound)
  }

  /// Of an entry. `host`: a name that the certificate has.
  func url(_ host: String = "localhost") -> String { "\(scheme)://\(host):\(port)" }

  /// Returns when it has ended, with all of its connections.
  func kill() {
    let child = child.change { $0 }
    child.signal(SIGKILL)
    _ = child.awaitEnd(seconds: 5)
  }

  /// Stops it; the kernel still takes connections for it.
  func pause() { child.change { $0 }.signal(SIGSTOP) }
  func goOn() { child.change { $0 }.signal(SIGCONT) }

  /// Returns once it has taken so many connections.
  func awaitTaken(_ count: Int) throws {
    let end = Date(timeIntervalSinceNow: 5)
    while try taken() < count { guard Date() < end else { throw HarnessError("it has not taken \(count) connections") } }
  }

  func restart() throws {
    let (next, _) = try Self.start(scheme, port)
    child.change { $0 = next }
  }

  /// - Returns: how many connections it has taken since it was started.
  @discardableResult
  func set(_ mode: Mode) throws -> Int { try order(mode.rawValue) }
  func taken() throws -> Int { try order("") }

  private func order(_ text: String) throws -> Int {
    let child = child.change { $0 }
    let before = child.lines.count
    child.send(text + "\n")
    guard let count = child.awaitLine(from: before, where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("listed_origin.py: \(child.errors)")
    }
    return count
  }
}

extension Answer {
  struct Listed: Decodable {
    let method, target: String
    /// By lower-case name.
    let fields: [String: String]
    let size, port: Int
  }
  /// What the origin of a list received; nil: none answered.
  var listed: Listed? { try? JSONDecoder().decode(Listed.self, from: Data(body)) }
}
