import Foundation
import Testing

/// Apps that speak HTTP/2 inside of intercepted TLS, to origins of either protocol.
@Suite struct HTTP2AppTests {
  /// What curl said, and what it printed of `write-out`.
  private static func curl(_ proxy: ProxyProcess, _ options: [String], input: String = "") throws -> (
    status: ChildProcess.Ending, output: String, errors: String
  ) {
    let run = try ChildProcess.run(
      "curl",
      ["-sS", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "--cacert", proxy.root, "--max-time", "60"] + options,
      input: input)
    return (run.status, run.output, run.errors)
  }

  @Test func `an app gets HTTP/2 where an entry has it, and HTTP/1.1 where none has`() throws {
    for (entry, version) in [("http_version: auto", "2"), ("http_version: 1.1", "1.1")] {
      try withProxy(try Intercepted.configuration(entry: entry)) { proxy throws in
        let got = try Self.curl(proxy, ["-w", "\n%{http_version}", "https://api.test/echo?q=1"])
        #expect(got.output.hasSuffix("\n\(version)"), "\(got)")
        let received = try JSONDecoder().decode(Received.self, from: Data(got.output.dropLast(version.count + 1).utf8))
        #expect(received["Authorization"] == "Bearer \(Configuration.token)" && received.target == "/echo?q=1")
        #expect(received["Host"] == "localhost:\(try Origin.shared().ports.https)", "\(received)")
      }
    }
  }

  @Test func `uploads arrive whole, with a length and without`() throws {
    let body = String(repeating: "0123456789abcdef", count: 1 << 16)
    try withProxy(try Intercepted.configuration(entry: "http_version: auto")) { proxy throws in
      for fields in [[], ["-H", "Content-Length:", "-H", "Transfer-Encoding: chunked"]] {
        let got = try Self.curl(proxy, fields + ["--data-binary", "@-", "https://api.test/echo"], input: body)
        let received = try JSONDecoder().decode(Received.self, from: Data(got.output.utf8))
        #expect(received.body_length == body.utf8.count && received.method == "POST", "\(got.errors)")
      }
    }
  }

  @Test func `many requests share a connection, and each has its own answer`() throws {
    try withProxy(try Intercepted.configuration(entry: "http_version: auto")) { proxy throws in
      let urls = (0..<100).map { "https://api.test/echo?n=\($0)-end" }
      let got = try Self.curl(proxy, ["-Z", "--parallel-max", "50", "-w", "\n%{http_code} %{num_connects}\n"] + urls)
      for index in 0..<100 { #expect(got.output.contains("/echo?n=\(index)-end"), "\(index) \(got.errors)") }
      // Status, and connections that were opened for it.
      let answers = got.output.split(separator: "\n").filter { $0.hasPrefix("200 ") }
      #expect(answers.count == 100)
      #expect(answers.compactMap { Int($0.dropFirst(4)) }.reduce(0, +) < 10, "\(answers)")
      let line = try #require(proxy.process.awaitLine { $0.contains(#""protocol":"h2""#) })
      #expect(line.contains(#""scheme":"https""#))
    }
  }

  @Test func `heads without a body, and small errors, end as they should`() throws {
    try withProxy(try Intercepted.configuration(entry: "http_version: auto")) { proxy throws in
      let head = try Self.curl(proxy, ["-I", "-w", "%{http_code} %{size_download}", "https://api.test/echo"])
      #expect(head.status == .exited(0) && head.output.hasSuffix("200 0"), "\(head)")
      let misdirected = try Self.curl(
        proxy, ["-H", "Host: other.test", "-o", "/dev/null", "-w", "%{http_code}", "https://api.test/echo"])
      #expect(misdirected.output == "421", "\(misdirected)")
    }
  }

  @Test func `a cut answer is never a whole one`() throws {
    let origin = try Origin.shared()
    for head in ["Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "Content-Length: 10\r\n\r\nhello"] {
      let name = Origin.newName()
      try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\n" + head), .close])
      try withProxy(try Intercepted.configuration(entry: "http_version: auto")) { proxy throws in
        let got = try Self.curl(proxy, ["https://api.test/?id=\(name)"])
        #expect(got.status == .exited(92) && got.errors.contains("INTERNAL_ERROR"), "\(got)")
      }
    }
  }

  @Test func `a reload and a drain lose no request of an app that goes on`() throws {
    let configuration = try Intercepted.configuration(entry: "http_version: auto")
    let proxy = try ProxyProcess(configuration)
    defer { proxy.stop() }
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), .gate("rest"), .send("hello")])
    let child = try ChildProcess(
      "curl",
      [
        "-sS", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "--cacert", proxy.root, "--max-time", "60", "-w",
        "%{http_version}", "https://api.test/?id=\(name)",
      ])
    #expect(try eventually { try origin.exchanges(name).count == 1 })
    try proxy.reload("listen: \(proxy.addresses[0])\n" + configuration)
    proxy.process.signal(SIGTERM)
    try origin.open("rest", of: name)
    #expect(child.awaitEnd(seconds: 30) == .exited(0) && child.output == "hello2", "\(child.output) \(child.errors)")
    #expect(proxy.process.awaitEnd(seconds: 30) == .exited(0))
  }
}
