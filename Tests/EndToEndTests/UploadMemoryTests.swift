import Foundation
import Testing

/// Uploads of a crowd, to an origin that reads none of them for a while. `AUTHPROXY_UPLOADS=200 AUTHPROXY_UPLOAD_MIB=64` for the figures
/// of docs/performance.md.
@Suite(.serialized) struct UploadMemoryTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["AUTHPROXY_UPLOADS"].flatMap { Int($0) } ?? 60
  private static let bytes = (environment["AUTHPROXY_UPLOAD_MIB"].flatMap { Int($0) } ?? 4) << 20
  /// KiB of an upload besides what `limits.buffers` counts: the app's block, the origin's, and what describes both.
  private static let each = 96

  private static let bearer = "bearer: {token: tok-5ecret-0001}"
  private static let s3 = "sigv4: {service: s3, region: eu-central-1, \(AWSServer.keys)"

  /// - Parameters:
  ///   - buffers: MiB.
  ///   - pauses: the origin reads nothing until all uploads stand still.
  /// - Returns: KiB that the proxy has grown at most, and what was answered.
  private func uploads(
    _ credential: String, buffers: Int = 64, pauses: Bool = true, waves: Int = 1, _ options: String...
  ) throws -> (growth: Int, result: LoadGenerator.Result) {
    let (sink, port) = try LoadGenerator.serve()
    defer { sink.closeInput() }
    let text = """
      log: {access: false}
      limits: {upstream_connections: 4000, hashed_body: 64MiB, buffers: \(buffers)MiB}
      upstreams:
        - {match: api.test, origin: "http://127.0.0.1:\(port)", credential: api}
      credentials:
        api:
          allow_plaintext: true
          \(credential)

      """
    let proxy = try ProxyProcess(text)
    defer { proxy.stop() }
    #expect(try proxy.ask("PUT", "http://api.test/k", body: "x").status == 200)
    let before = try Measures(proxy.pid, resettingPeak: true).resident
    if pauses { sink.signal(SIGSTOP) }
    let crowd = try LoadGenerator.start(
      proxy, "http://api.test/k",
      ["--clients", "\(Self.count)", "--requests", "\(Self.count * waves)", "--upload", "\(Self.bytes)"] + options, seconds: 280
    )
    if pauses {
      var ticks = -1
      let isStill = try eventually(seconds: 60) {
        let (last, now) = (ticks, try Measures(proxy.pid))
        ticks = now.processorTicks
        usleep(200_000)
        return now.sockets >= 2 * Self.count && ticks == last
      }
      #expect(isStill)
      sink.signal(SIGCONT)
    }
    let result = try LoadGenerator.result(crowd, seconds: 280)
    #expect(result.finished == Self.count * waves && result.failed == 0, "\(result)")
    let peak = try Measures(proxy.pid).residentPeak
    print("\(Self.count) uploads of \(Self.bytes >> 20) MiB, \(options): \(peak) KiB, \(before) before; \(result.statuses)")
    // With the default buffers.
    if buffers == 64, Self.count <= 200 { #expect(peak < 150 << 10, "\(peak) KiB") }
    let isGivenBack = try eventually { try Measures(proxy.pid).resident - before < 16 << 10 }
    #expect(isGivenBack)
    return (peak - before, result)
  }

  @Test(arguments: [bearer, s3 + ", payload: unsigned}"])
  func `what is not signed streams in a block or two`(credential: String) throws {
    let (growth, result) = try uploads(credential)
    #expect(result.good == Self.count)
    #expect(growth < Self.count * Self.each + 2 << 10, "\(growth) KiB")
  }

  @Test func `chunks of 64 KiB that are signed again are kept twice at most`() throws {
    let (growth, result) = try uploads(Self.s3 + "}", "--signed-chunks", "65536")
    #expect(result.good == Self.count, "\(result)")
    #expect(growth < Self.count * (Self.each + 2 * 66) + 2 << 10, "\(growth) KiB")
  }

  @Test func `chunks of 1 MiB occupy no more than the buffers; those that do not fit are 503`() throws {
    let (growth, result) = try uploads(Self.s3 + "}", buffers: 16, "--signed-chunks", "1048576")
    #expect(Set(result.statuses.keys) == ["200", "503"] && result.good > 0, "\(result)")
    #expect(growth < 18 << 10 + Self.count * Self.each, "\(growth) KiB")
  }

  @Test func `bodies that are hashed occupy no more than the buffers; those that do not fit are 503`() throws {
    let (growth, result) = try uploads(Self.s3 + ", payload: signed}", pauses: false, waves: 10)
    #expect(Set(result.statuses.keys).isSubset(of: ["200", "503"]), "\(result)")
    // One client gets seven eighths of the buffers.
    #expect((result.good > 0) == (Self.bytes <= 56 << 20), "\(result)")
    #expect(growth < 66 << 10 + Self.count * Self.each, "\(growth) KiB")
  }
}
