import Foundation

/// A TCP relay in front of a peer: counts connections, keeps what clients send, plays a dead peer. See relay.py.
final class Relay {
  struct State: Decodable {
    /// When each connection came, in seconds of the monotonic clock.
    let opened: [Double]
    let now: Double
    let open: Int
    /// Connections that have just been ended while their clients awaited an answer.
    let inFlight: Int

    private enum CodingKeys: String, CodingKey {
      case opened, now, open
      case inFlight = "in_flight"
    }
  }
  private struct Kept: Decodable { let bytes, answers: [String] }
  enum Direction: String { case requests, answers, both }

  let port: Int
  private let child: ChildProcess

  /// - Parameter target: port on loopback.
  init(to target: Int, keep: Bool = false) throws {
    child = try ChildProcess(
      Surroundings.python, [Surroundings.support + "/relay.py", "127.0.0.1:\(target)"] + (keep ? ["--keep"] : []))
    guard let port = child.awaitLine(where: { _ in true }).flatMap({ Int($0) }) else {
      throw HarnessError("relay.py: \(child.errors)")
    }
    self.port = port
  }

  deinit { child.closeInput() }

  private func ask<Reply: Decodable>(_ word: String, as type: Reply.Type) throws -> Reply {
    let before = child.lines.count
    child.send(word + "\n")
    guard let line = child.awaitLine(from: before, where: { _ in true }) else {
      throw HarnessError("relay.py: \(child.errors)")
    }
    return try JSONDecoder().decode(type, from: Data(line.utf8))
  }

  func state() throws -> State { try ask("state", as: State.self) }
  /// What clients have sent, one item for each connection.
  func kept() throws -> [[UInt8]] { Self.bytes(try ask("kept", as: Kept.self).bytes) }
  /// What clients were sent.
  func answers() throws -> [[UInt8]] { Self.bytes(try ask("kept", as: Kept.self).answers) }
  private static func bytes(_ texts: [String]) -> [[UInt8]] {
    texts.map { $0.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } }
  }
  /// Ends all connections; new ones are refused.
  @discardableResult func refuse() throws -> State { try ask("refuse", as: State.self) }
  /// Ends all connections; new ones are accepted and reset.
  @discardableResult func reset() throws -> State { try ask("reset", as: State.self) }
  @discardableResult func serve() throws -> State { try ask("serve", as: State.self) }
  /// Keeps what comes, and every connection, until `serve`.
  @discardableResult func hold(_ what: Direction) throws -> State { try ask("hold \(what.rawValue)", as: State.self) }
  @discardableResult func delay(milliseconds: Int) throws -> State { try ask("delay \(milliseconds)", as: State.self) }
  /// Ends all connections; new ones go to another port of loopback.
  @discardableResult func move(to port: Int) throws -> State { try ask("to \(port)", as: State.self) }
}
