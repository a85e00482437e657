import Foundation
import Testing

/// What an answer costs. `AUTHPROXY_DIGEST_REQUESTS=50000` for a steady figure.
@Suite(.serialized) struct DigestCrowdTests {
  private static let count = ProcessInfo.processInfo.environment["AUTHPROXY_DIGEST_REQUESTS"].flatMap { Int($0) } ?? 4_000

  /// CPU seconds of a load, after a shorter one.
  private func cpu(_ proxy: ProxyProcess, _ url: String) throws -> Double {
    #expect(try LoadGenerator.load(proxy, url, "--clients", "16", "--requests", "500").good == 500)
    let before = try Measures(proxy.pid).processorTicks
    let result = try LoadGenerator.load(proxy, url, "--clients", "16", "--requests", "\(Self.count)", seconds: 400)
    #expect(result.good == Self.count, "\(result)")
    return Double(try Measures(proxy.pid).processorTicks - before) / 100
  }

  @Test func `an answer costs a few hashes more than a Bearer token`() throws {
    let server = try DigestServer(#"{"trusting": true}"#)
    let quiet = "log: {access: false}\nthreads: 1\n"
    var answered = 0.0
    try withProxy(server.configuration(top: quiet)) { proxy throws in answered = try cpu(proxy, server.url("crowd")) }
    // Those that came before the first 401 was read went without.
    #expect(try server.state().whys.allSatisfy { $0 == "none" })
    var bearer = 0.0
    let plain = """
      upstreams:
        - {match: api.test, origin: "\(server.base)", credential: api}
      credentials:
        api: {bearer: {token: tok-5ecret-0001}, allow_plaintext: true}
      \(quiet)
      """
    try withProxy(plain) { proxy throws in bearer = try cpu(proxy, server.url("crowd")) }
    let each = (answered - bearer) / Double(Self.count) * 1e6
    let (one, other) = (answered / Double(Self.count) * 1e6, bearer / Double(Self.count) * 1e6)
    print("Digest: \(one) us a request, Bearer: \(other), more: \(each)")
    // Noise of a busy machine is no fault; a challenge for each request would be one.
    #expect(each < 60, "\(each) us")
  }
}
