import Foundation
import Testing

/// A gibibyte in each direction, every byte compared, in bounded memory.
@Suite(.serialized) struct LargeBodiesTests {
  static let gibibyte = 1 << 30
  /// KiB that a proxy may grow, however large a body is.
  static let growth = 30 << 10

  private func measured(_ proxy: ProxyProcess, _ body: () throws -> Void) throws {
    #expect(try proxy.ask("http://api.test/").status == 200)
    let before = try Measures(proxy.pid, resettingPeak: true)
    try body()
    let after = try Measures(proxy.pid)
    #expect(after.residentPeak - before.resident < Self.growth, "\(before) \(after)")
  }

  @Test func `1 GiB comes down from a TLS origin byte for byte`() throws {
    try withProxy(try Configuration.https()) { proxy in
      try measured(proxy) {
        let result = try LoadGenerator.load(proxy, "http://api.test/bytes/\(Self.gibibyte)", "--requests", "1", "--verify")
        #expect(result.good == 1)
        #expect(result.bytes == Self.gibibyte)
        #expect(result.mismatched == 0)
      }
    }
  }

  @Test func `1 GiB goes up to a TLS origin byte for byte`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try withProxy(try Configuration.https()) { proxy in
      try measured(proxy) {
        let result = try LoadGenerator.load(
          proxy, "http://api.test/upload?id=\(name)", "--requests", "1", "--upload", "\(Self.gibibyte)")
        #expect(result.good == 1)
        let received = try origin.await(name, state: "complete")[0]
        #expect(received.body_length == Self.gibibyte)
        #expect(received.matches_pattern)
      }
    }
  }

  @Test func `chunked bodies of 64 MiB pass both kinds of origin`() throws {
    for configuration in [try Configuration.https(), try Configuration.http()] {
      try withProxy(configuration) { proxy in
        let result = try LoadGenerator.load(
          proxy, "http://api.test/chunked/\(64 << 20)", "--requests", "2", "--clients", "2", "--verify")
        #expect(result.good == 2)
        #expect(result.bytes == 128 << 20)
        #expect(result.mismatched == 0)
      }
    }
  }
}
