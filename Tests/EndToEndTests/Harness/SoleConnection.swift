import Foundation
import Testing

/// A hostile origin, and a proxy with one loop and one connection to it. Made again after a failed case, whose remains in the
/// pool would disturb the next.
final class SoleConnection {
  /// What is wrong; nil if nothing is.
  typealias Case = @Sendable (SoleConnection) throws -> String?
  /// Most faults to report, as each can cost seconds.
  private static let enough = 6
  /// Worlds at a time, as most of a case is waiting.
  private static let worlds = 8

  let origin: Origin
  private let text: String
  private var proxy: ProxyProcess?
  private var discardsBefore = 0

  /// - Parameter discards: how many connections the proxy closes and counts, by the name of the case.
  static func run(
    _ wire: Wire, discards: @escaping @Sendable (String) -> Int = { _ in 1 }, _ cases: [(String, Case)]
  ) throws {
    let origin = try Origin.hostile()
    let state = Monitor((faults: [String](), running: worlds))
    for first in 0..<worlds {
      Thread {
        do {
          let world = try SoleConnection(wire, origin)
          defer { world.proxy?.stop() }
          for number in stride(from: first, to: cases.count, by: worlds) where state.change({ $0.faults.count < enough }) {
            let (name, body) = cases[number]
            var fault: String?
            do {
              world.discardsBefore = try world.discards()
              fault = try body(world)
              fault = try fault ?? world.fault(ofDiscards: discards(name))
            } catch { fault = "\(error)" }
            guard let fault else { continue }
            state.change { $0.faults.append("case \(number): \(name): \(fault)") }
            try world.restart()
          }
        } catch { state.change { $0.faults.append("no world: \(error)") } }
        state.change { $0.running -= 1 }
      }.start()
    }
    let faults = state.wait(180) { $0.running == 0 ? $0.faults : nil } ?? ["it does not end"]
    if !faults.isEmpty { Issue.record("\(faults.count) faults in \(cases.count) cases:\n\(faults.joined(separator: "\n"))") }
  }

  private init(_ wire: Wire, _ origin: Origin) throws {
    self.origin = origin
    let servers = (refreshed: try TokenServer(origin: origin), refused: try TokenServer(#"{"same": true}"#, origin: origin))
    func token(_ name: String, _ server: TokenServer) -> String {
      """
        \(name):
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: \(server.tokenURL)
            client_id: me
            client_secret: shh-5ecret-client
            refresh_window: {interval: 1s, attempts: 1000}
      """
    }
    let url = try wire.url(origin)
    text = """
      threads: 1
      admin: 127.0.0.1:0
      limits: {upstream_connections: 1}
      upstreams:
        - {match: api.test, origin: "\(url)", credential: api, decompress: true}
        - {match: retry.test, origin: "\(url)", credential: api, retry: {attempts: 2, backoff: 10ms}}
        - {match: refreshed.test, origin: "\(url)", credential: refreshed}
        - {match: refused.test, origin: "\(url)", credential: refused}
      credentials:
        api: {bearer: {token: \(Configuration.token)}, allow_plaintext: true}
      \(token("refreshed", servers.refreshed))
      \(token("refused", servers.refused))
      """
    try restart()
  }

  func restart() throws {
    proxy?.stop()
    proxy = nil
    let next = try ProxyProcess(text)
    proxy = next
    discardsBefore = 0
    for host in ["api.test", "refreshed.test", "refused.test"] {
      guard try next.ask("http://\(host)/").status == 200 else { throw HarnessError("no way to \(host)") }
    }
  }

  /// Connections that the proxy closed because their origin had spoken.
  private func discards() throws -> Int {
    let lines = try proxy?.admin("metrics").text.split(separator: "\n") ?? []
    return lines.reduce(0) { sum, line in
      guard line.hasPrefix("authproxy_upstream_connection_discards_total{") else { return sum }
      return sum + (line.split(separator: " ").last.flatMap { Int($0) } ?? 0)
    }
  }

  private func fault(ofDiscards wanted: Int) throws -> String? {
    var found = 0
    let areCounted = try eventually(seconds: 3) {
      found = try discards() - discardsBefore
      return found >= wanted
    }
    return areCounted && found == wanted ? nil : "\(found) connections were discarded, not \(wanted)"
  }

  func pause() throws { try proxy?.pause() }
  func goOn() { proxy?.goOn() }

  private func connect() throws -> RawConnection {
    guard let proxy else { throw HarnessError("no proxy") }
    let client = try proxy.connect()
    client.timeout = 4
    return client
  }

  func ask(_ method: String, _ host: String, _ id: String, body: String? = nil) throws -> RawConnection {
    let client = try connect()
    try client.send(ProxyProcess.request(method, "http://\(host)/\(id)?id=\(id)", body: body))
    return client
  }

  typealias Marked = (client: RawConnection, mark: String)

  /// Another client's request, whose response says whose it is.
  private func askMarked(_ host: String) throws -> Marked {
    let (client, mark) = (try connect(), Origin.newName())
    try client.send(ProxyProcess.request("GET", "http://\(host)/echo?mark=\(mark)"))
    return (client, mark)
  }

  /// The same, while the only connection is in use.
  func askInLine(_ host: String) throws -> Marked {
    let marked = try askMarked(host)
    // The only loop answers this one itself, after it has read the other.
    let other = try connect()
    try other.send(ProxyProcess.request("GET", "http://unlisted.test/"))
    guard try other.readAnswer().status == 403 else { throw HarnessError("not refused") }
    return marked
  }

  func faultOfNext(_ host: String) throws -> String? { try faultOf(try askMarked(host)) }

  func faultOf(_ marked: Marked) throws -> String? {
    let answer: Answer
    do { answer = try marked.client.readAnswer() } catch { return "the next client is not answered: \(error)" }
    if answer["X-Whose"] != nil { return "the next client got the foreign answer" }
    guard answer.status == 200, let received = try? answer.received() else { return "the next client got \(answer.head)" }
    return received.target == "/echo?mark=\(marked.mark)" ? nil : "the next client got the answer to \(received.target)"
  }
}
