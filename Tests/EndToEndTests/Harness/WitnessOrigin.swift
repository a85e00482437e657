import Foundation

/// An origin that keeps every byte it receives, after TLS. See witness.py.
final class WitnessOrigin {
  private struct Ports: Decodable { let http, https: Int }
  /// What has come, one scalar for each byte.
  struct Seen: Decodable { let http, https: String }

  /// The access token that it issues below /token.
  static let token = "tok-5ecret-of-the-server"

  let http, https: Int
  private let child: ChildProcess

  init() throws {
    child = try ChildProcess(Surroundings.python, [Surroundings.support + "/witness.py", try Surroundings.pki()])
    guard let line = child.awaitLine(where: { _ in true }) else { throw HarnessError("witness.py: \(child.errors)") }
    let ports = try JSONDecoder().decode(Ports.self, from: Data(line.utf8))
    (http, https) = (ports.http, ports.https)
  }

  deinit { child.closeInput() }

  func seen() throws -> Seen {
    let before = child.lines.count
    child.send("\n")
    guard let line = child.awaitLine(from: before, where: { _ in true }) else {
      throw HarnessError("witness.py: \(child.errors)")
    }
    return try JSONDecoder().decode(Seen.self, from: Data(line.utf8))
  }
}
