import Foundation
import Testing

/// The origin is a witness in all other tests. These tests show, without a proxy, that it sees and reports what a client sends.
@Suite struct HarnessTests {
  @Test func `the origin tells what it received, and keeps it`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    let connection = try RawConnection(port: origin.ports.http)
    try connection.send("POST /echo?id=\(name) HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 3\r\n\r\nabc")
    let received = try connection.readAnswer().received()
    #expect(received.fields == [["Host", "h"], ["X-A", "1"], ["x-a", "2"], ["Content-Length", "3"]])
    #expect(received.body == "abc")
    #expect(try origin.await(name, state: "complete").count == 1)
    connection.close()
    #expect(try origin.await(name, state: "closed")[0].state == "closed")
  }

  @Test func `the origin plays a script, up to a gate and past it`() throws {
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(
      name,
      [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"), .gate("on"), .send("1\r\nb\r\n0\r\n\r\n")])
    let connection = try RawConnection(port: origin.ports.http)
    try connection.send("GET /?id=\(name) HTTP/1.1\r\nHost: h\r\n\r\n")
    #expect(try connection.readHead().isChunked)
    #expect(try connection.readChunk() == "a")
    #expect(connection.staysSilent(for: 0.05))
    try origin.open("on", of: name)
    #expect(try connection.readChunk() == "b")
  }

  @Test func `the origin notes what no proxy may send`() throws {
    let origin = try Origin()
    let connection = try RawConnection(port: origin.ports.http)
    try connection.send("GET / HTTP/1.1\r\nHost: h\r\nProxy-Connection: keep-alive\r\n\r\n")
    #expect(try connection.readAnswer().status == 200)
    let broken = try RawConnection(port: origin.ports.http)
    try broken.send("GET / HTTP/1.1\r\nHost : h\r\n\r\n")
    _ = try broken.readToEnd()
    let violations = try origin.violations()
    #expect(violations.count == 2)
    #expect(violations.contains { $0.contains("proxy-connection") })
    #expect(violations.contains { $0.contains("h11") })
  }

  @Test func `a secret is found in every spelling, at any place`() throws {
    let secret = "a secret/+of \u{fe}=~"
    let bytes = Array(secret.utf8)
    let spelled = [
      secret, bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), "a%20secret%2F%2Bof%20%C3%BE%3D~",
      "a%20secret%2f%2bof%20%c3%be%3d~",
    ]
    let encoded = ["", "x", "xy"].map { Data(($0 + secret + "end").utf8).base64EncodedString() }
    let others = encoded.map { $0.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_") }
    for text in spelled + [spelled[1].uppercased()] + encoded + others {
      #expect(Spellings(of: secret).first(in: Data("before \(text) behind".utf8)) != nil, "\(text)")
    }
    #expect(Spellings(of: secret).first(in: Data("a secret/+of".utf8)) == nil)
  }

  @Test func `the load generator counts what it got, and notices a wrong byte`() throws {
    let generator = try Surroundings.loadGenerator()
    let origin = try Origin.shared()
    let address = "127.0.0.1:\(origin.ports.http)"
    let right = try ChildProcess.run(
      generator,
      ["load", "--to", address, "--url", "http://h/bytes/3000000", "--clients", "2", "--requests", "4", "--verify"])
    #expect(right.output.contains(#""good": 4, "failed": 0, "mismatched": 0, "bytes": 12000000"#), "\(right)")
    let wrong = try ChildProcess.run(
      generator, ["load", "--to", address, "--url", "http://h/status/404", "--requests", "1", "--verify"])
    #expect(wrong.output.contains(#""mismatched": 1"#), "\(wrong)")
    #expect(wrong.output.contains(#""404": 1"#), "\(wrong)")
  }
}
