import Foundation
import Testing

/// `timeouts` of an entry that are longer or shorter than the global ones.
@Suite struct UpstreamTimeoutTests {
  @Test func `a longer connect of an entry outlasts the global one`() throws {
    let hole = try BlackHole()
    let configuration = try Configuration.http("timeouts: {connect: 900ms}", top: "timeouts: {connect: 200ms}", port: hole.port)
    try withProxy(configuration) { proxy throws in
      let start = Date()
      expectOwnAnswer(try proxy.ask("http://api.test/"), 504, "connection_timeout")
      #expect(Date().timeIntervalSince(start) > 0.8)
    }
  }

  @Test func `a shorter connect of an entry does not wait for the global one`() throws {
    let hole = try BlackHole()
    try withProxy(try Configuration.http("timeouts: {connect: 200ms}", port: hole.port)) { proxy throws in
      let start = Date()
      expectOwnAnswer(try proxy.ask("http://api.test/"), 504, "connection_timeout")
      #expect(Date().timeIntervalSince(start) < 4)
    }
  }

  @Test func `an entry's upstream_idle ends its idle connections`() throws {
    let origin = try Origin()
    try withProxy(try Configuration.https("timeouts: {upstream_idle: 200ms}", origin: origin)) { proxy throws in
      #expect(try proxy.ask("http://api.test/").status == 200)
      #expect(try origin.connections("https", count: 0, seconds: 5).fits)
    }
  }

  @Test func `an origin that takes no more of a body is 504, and not the app's fault`() throws {
    let listener = try TestListener()
    try withProxy(try Configuration.http(top: "timeouts: {stall: 1500ms}", port: listener.port)) { proxy throws in
      let client = try proxy.connect()
      try client.send("POST http://api.test/ HTTP/1.1\r\nHost: api.test\r\nContent-Length: 10000000000\r\n\r\n")
      let origin = try listener.accept()
      let piece = [UInt8](repeating: 120, count: 1 << 20)
      let deadline = Date(timeIntervalSinceNow: 15)
      // There are always more bytes.
      while client.staysSilent(for: 0.01), Date() < deadline { _ = client.sendWhatFits(piece) }
      expectOwnAnswer(try client.readAnswer(), 504, "connection_write_timeout")
      origin.close()
    }
  }
}
