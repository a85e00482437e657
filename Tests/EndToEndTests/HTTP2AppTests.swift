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

  @Test func `a request of an entry that a reload removes has the drain time`() throws {
    let text = try Intercepted.configuration(entry: "http_version: auto", top: "timeouts: {drain: 300ms}")
    let proxy = try ProxyProcess(text)
    defer { proxy.stop() }
    let origin = try Origin.shared()
    let name = Origin.newName()
    try origin.script(name, [.readBody, .send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .awaitClose])
    let child = try ChildProcess(
      "curl",
      [
        "-sS", "-N", "--noproxy", "", "-x", "http://127.0.0.1:\(proxy.port)", "--cacert", proxy.root, "--max-time", "60",
        "https://api.test/?id=\(name)",
      ])
    #expect(try eventually { try origin.exchanges(name).count == 1 })
    let start = Date()
    try proxy.reload("listen: \(proxy.addresses[0])\n" + text.replacing("api.test", with: "other.test"))
    #expect(child.awaitEnd(seconds: 30) == .exited(92), "\(child.output) \(child.errors)")
    let took = Date().timeIntervalSince(start)
    #expect(child.output == "half" && took >= 0.29 && took < 20, "\(took)")
  }

  @Test func `an app that has closed its side in order gets its answers, and one that is gone has left`() throws {
    let origin = try HTTP2Origin()
    try origin.script("held", [.awaitEnd, .gate("on")] + HTTP2Origin.Step.answer("ok"))
    try origin.script("left", [.awaitEnd, .gate("never")])
    try withProxy(origin.interception()) { proxy throws in
      let requests = [HTTP2App.get("/?id=held"), HTTP2App.get("/?id=held")]
      let app = try HTTP2App.start(proxy, requests, ["--half-close"])
      let gone = try HTTP2App.start(proxy, [HTTP2App.get("/?id=left"), HTTP2App.get("/?id=left")], ["--cut"])
      try origin.await(.requests, 2, of: "held")
      try origin.await(.requests, 2, of: "left")
      app.send("\n")
      gone.send("\n")
      try origin.await(.resets, 2, of: "left")
      let left = try gone.awaitApp()
      #expect(left.answers == 0 && left.end != "open", "\(left)")
      try origin.open("on")
      let seen = try app.awaitApp()
      #expect(seen.end != "open" && seen.head(1)[":status"] == "200" && seen.head(3)[":status"] == "200", "\(seen)")
      #expect(try origin.tell().of("held").allSatisfy { $0.reset == nil })
    }
  }

  @Test func `trailers behind a length reach an app over HTTP/2`() throws {
    let origin = try HTTP2Origin()
    let head = HTTP2Origin.Step.head([[":status", "200"], ["content-length", "5"]])
    let end = HTTP2Origin.Step.end([["grpc-status", "0"], ["x-sum", "5"], ["set-cookie", "a=b"]])
    try origin.script("late", [.awaitEnd, head, .data("hello"), .gate("on"), end])
    try origin.script("none", [.awaitEnd, head, .data("he"), .last("llo")])
    try withProxy(origin.interception()) { proxy throws in
      let names = ["late", "none"]
      let app = try HTTP2App.start(proxy, names.map { HTTP2App.get("/?id=\($0)") }, ["--until-answered"])
      try origin.await(.standing, of: "on")
      try origin.open("on")
      let seen = try app.awaitApp()
      let trailers = HTTP2App.Step.head([["grpc-status", "0"], ["x-sum", "5"]])
      #expect(seen.head(1)["content-length"] == "5" && seen.length(1) == 5, "\(seen)")
      #expect(seen[1].suffix(2) == [trailers, .end], "\(seen[1])")
      #expect(seen.head(3)["content-length"] == "5" && seen.length(3) == 5 && seen[3].last == .end, "\(seen[3])")
      // An app over 1.1 gets the body.
      let old = try proxy.inside("GET /?id=none HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n")
      #expect(old.received.hasSuffix("hello"), "\(old)")
      #expect(try origin.tell().connections.flatMap(\.resets).isEmpty)
    }
  }

  @Test func `an app is offered HTTP/2 for the entries that it may use`() throws {
    let origin = try Origin.shared()
    let configuration = """
      clients:
        - {name: old, password: pw-5ecret}
        - {name: new, password: pw-5ecret}
      intercept: {ca: {generate: ca}}
      upstreams:
        - {name: modern, match: "https://api.test", origin: "https://localhost:\(origin.ports.https)", http_version: auto, clients: [new]}
        - {name: plain, match: "https://api.test", origin: "https://localhost:\(origin.ports.https)", clients: [old]}
      """
    try withProxy(configuration) { proxy throws in
      for (client, version) in [("old", "1.1"), ("new", "2")] {
        let got = try Self.curl(
          proxy,
          [
            "--proxy-user", "\(client):pw-5ecret", "-o", "/dev/null", "-w", "%{http_code} %{http_version}",
            "https://api.test/echo",
          ])
        #expect(got.output == "200 \(version)", "\(client): \(got)")
      }
    }
  }
}
