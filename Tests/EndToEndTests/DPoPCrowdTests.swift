import Foundation
import Testing

/// Many requests, each with a proof that is verified afterwards. `AUTHPROXY_DPOP_REQUESTS=100000` for the whole crowd.
@Suite(.serialized) struct DPoPCrowdTests {
  private static let count = ProcessInfo.processInfo.environment["AUTHPROXY_DPOP_REQUESTS"].flatMap { Int($0) } ?? 4_000

  /// CPU seconds of a load, after a shorter one.
  private func cpu(_ proxy: ProxyProcess, _ url: String) throws -> Double {
    #expect(try LoadGenerator.load(proxy, url, "--clients", "16", "--requests", "500").good == 500)
    let before = try Measures(proxy.pid).processorTicks
    let result = try LoadGenerator.load(proxy, url, "--clients", "16", "--requests", "\(Self.count)", seconds: 400)
    #expect(result.good == Self.count, "\(result)")
    return Double(try Measures(proxy.pid).processorTicks - before) / 100
  }

  @Test func `every proof of a crowd is valid and distinct; a request costs about two signatures more than with Bearer`() throws
  {
    let server = try DPoPServer()
    let recording = server.folder + "/requests"
    try server.set("{\"recorded\": \"\(recording)\"}")
    let quiet = "log: {access: false}\nthreads: 1\n"
    var proved = 0.0
    try withProxy(server.configuration(top: quiet)) { proxy throws in proved = try cpu(proxy, server.url("crowd")) }
    _ = try server.state()
    let verdict = try DPoPServer.judge(recording)
    #expect(verdict.bad == 0, "\(verdict.faults)")
    #expect(verdict.requests == Self.count + 500 && verdict.identifiers == verdict.requests)
    #expect(verdict.keys == 1)
    var bearer = 0.0
    let plain = """
      upstreams:
        - {match: api.test, origin: "\(server.base)", credential: api}
      credentials:
        api: {bearer: {token: tok-5ecret-0001}, allow_plaintext: true}
      \(quiet)
      """
    try withProxy(plain) { proxy throws in bearer = try cpu(proxy, server.url("crowd")) }
    let each = (proved - bearer) / Double(Self.count) * 1e6
    print(
      "DPoP: \(proved / Double(Self.count) * 1e6) us a request, Bearer: \(bearer / Double(Self.count) * 1e6), more: \(each)")
    // Noise of a busy machine is no fault; a second signature, or a context for each, would be.
    #expect(each < 120, "\(each) us")
  }
}
