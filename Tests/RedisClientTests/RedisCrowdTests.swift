import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// As many connections as a fleet has processes. `AUTHPROXY_CROWD=1000` for a larger one; it prints what docs/fleet.md says of sizes.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(5)))
struct RedisCrowdTests {
  private static let size = ProcessInfo.processInfo.environment["AUTHPROXY_CROWD"].flatMap { Int($0) } ?? 200
  /// Seconds: from which each picks its moment to come back.
  private static let window = max(0.2, 0.002 * Double(size))

  @Test func `all come back after a restart, not at the same moment, and a change reaches all of them`() throws {
    let server = try RedisServerProcess([TestStore.user, "maxclients 20000", "unixsocketperm 700"])
    var settings = RedisSettings(.server(server.address))
    settings.login = TestStore.login
    settings.timeout = 20_000
    func resident() throws -> Int {
      let pages = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")[1]
      return (Int(pages) ?? 0) * 4
    }
    let before = try resident()
    let crowd = Crowd(settings, size: Self.size)
    defer { crowd.stop() }
    #expect(crowd.state.wait(120) { $0.connected == Self.size ? true : nil } == true)
    // Each has counted those before it; now all know how many they are.
    let began = Crowd.now
    try restart(server, crowd, from: Self.size)
    let memory = Double(try resident() - before) / Double(Self.size)

    var rounds = 0
    var old: [UInt8]?
    for round in 0..<20 {
      let new = Array("record \(round)".utf8)
      crowd.write(old, new)
      old = new
      rounds += 1
      let wanted = rounds * Self.size
      let isRead = crowd.state.wait(60) { $0.adoptions.count == wanted ? true : nil }
      guard isRead == true else {
        Issue.record("\(crowd.state.change { $0.adoptions.count }) of \(wanted) have read it")
        return
      }
    }
    let delays = crowd.state.change { $0.adoptions }.sorted()
    let back = try restart(server, crowd, from: 2 * Self.size)
    print(
      """
      \(Self.size) connections: \(memory) KiB each here; a change is read after p50 \(part(0.5, delays) * 1_000) ms, \
      p99 \(part(0.99, delays) * 1_000) ms; after a restart back within p10 \(part(0.1, back)) s, p50 \(part(0.5, back)) s, \
      p90 \(part(0.9, back)) s, all \(back.last ?? 0) s; \(Crowd.now - began) s in all
      """)
    #expect(part(0.99, delays) < 5)
    #expect(part(0.9, back) - part(0.1, back) > Self.window / 4, "they came at the same moment")
    #expect((back.last ?? 0) < 4 * Self.window + 20)
  }

  private func part(_ share: Double, _ sorted: [Double]) -> Double { sorted[Int(share * Double(sorted.count - 1))] }

  /// - Returns: seconds from the end of the server until each was connected again, sorted.
  @discardableResult
  private func restart(_ server: RedisServerProcess, _ crowd: Crowd, from count: Int) throws -> [Double] {
    let start = Crowd.now
    server.kill()
    try server.start()
    let wanted = count + Self.size
    try #require(crowd.state.wait(120) { $0.connected == wanted ? true : nil } == true)
    return crowd.state.change { $0.times[count...].map { $0 - start } }.sorted()
  }
}
