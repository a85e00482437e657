import Foundation
import Testing

/// An origin that is far away: windows grow with the reader, so that a round trip does not slow a transfer down.
@Suite struct PeerHTTP2DistanceTests {
  @Test(.needs("nginx")) func `one answer over 40 ms of round trip reaches 20 MiB/s`() throws {
    let server = try HTTP2Server(.nginx)
    let size = 96 << 20
    let relay = try ChildProcess(Surroundings.python, [Peer.programs + "/http2/distance.py", "\(server.port)", "20"])
    defer { relay.closeInput() }
    let port = try #require(relay.awaitLine(where: { _ in true }).flatMap { Int($0) }, "\(relay.errors)")
    let file = try FileHandle(forWritingTo: server.largeFile())
    try file.truncate(atOffset: UInt64(size))
    try file.close()
    let configuration = """
      threads: 1
      upstreams:
        - {match: api.test, origin: "https://localhost:\(port)", http_version: 2}
      """
    try withProxy(configuration) { proxy throws in
      // The connection stands, and its windows are as they are at first.
      #expect(try proxy.ask("http://api.test/small").status == 200)
      let got = try ChildProcess.run(
        "curl",
        [
          "-sS", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "-o", "/dev/null", "-w",
          "%{http_code} %{size_download} %{speed_download}", "http://api.test/files/large",
        ])
      let words = got.output.split(separator: " ")
      #expect(words.count == 3 && words[0] == "200" && words[1] == "\(size)", "\(got)")
      let speed = (Double(words.last ?? "") ?? 0) / Double(1 << 20)
      print("96 MiB over 40 ms: \(Int(speed)) MiB/s")
      #expect(speed >= 20, "\(speed) MiB/s")
    }
  }
}
