import Foundation
import Testing

/// Origins that redirect with bad intentions, or badly.
@Suite struct RedirectHostileTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private func follows(_ steps: [Origin.Step], _ check: (ProxyProcess, Answer, String) throws -> Void) throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (name, target) = (Origin.newName(), Origin.newName())
      try world.origin.script(
        name,
        steps.map { step in
          if case .send(let text) = step { return .send(text.replacingOccurrences(of: "TARGET", with: "/echo?id=\(target)")) }
          return step
        })
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try check(proxy, try client.readAnswer(), target)
      // The app's connection is in step.
      try client.send(ProxyProcess.request("GET", "http://api.test/"))
      #expect(try client.readAnswer().text == "ok\n")
    }
  }

  @Test func `an endless body of the redirect is not waited for`() throws {
    let chunk = "1000\r\n" + String(repeating: "x", count: 0x1000) + "\r\n"
    let head = "HTTP/1.1 302 Found\r\nLocation: TARGET\r\nTransfer-Encoding: chunked\r\n\r\n"
    try follows([.readBody, .send(head), .send(String(repeating: chunk, count: 200)), .awaitClose]) {
      proxy, answer, target throws in
      #expect(answer.status == 200 && answer.details?.hasPrefix("1 redirect followed") == true)
      #expect(try world.only(target).method == "GET")
    }
  }

  @Test func `a body that does not come, is cut, or is malformed does not matter`() throws {
    for (rest, end) in [
      ("Content-Length: 5\r\n\r\n", Origin.Step.awaitClose), ("Content-Length: 5\r\n\r\nab", .close),
      ("Content-Length: 5\r\n\r\nab", .reset), ("Transfer-Encoding: chunked\r\n\r\nzz\r\n", .awaitClose),
      ("\r\nuntil close", .close),
      ("Connection: close\r\nContent-Length: 0\r\n\r\n", .close),
    ] {
      try follows([.readBody, .send("HTTP/1.1 302 Found\r\nLocation: TARGET\r\n\(rest)"), end]) { _, answer, target throws in
        #expect(answer.status == 200, "\(rest): \(answer.head)")
        #expect(try world.only(target).method == "GET")
      }
    }
  }

  @Test func `a small body keeps the connection`() throws {
    try withProxy(world.configuration(world.standard(), top: "threads: 1")) { proxy in
      let names = try (0..<4).map { _ in try world.redirecting { "/echo?id=\($0)" } }
      for (name, _) in names { #expect(try proxy.ask("http://api.test/?id=\(name)").status == 200) }
      let connections = try names.flatMap { [try world.only($0.0).connection, try world.only($0.1).connection] }
      #expect(Set(connections).count == 1, "\(connections)")
    }
  }

  @Test func `interim responses before the redirect and before the answer are relayed`() throws {
    let redirect = "HTTP/1.1 302 Found\r\nLocation: TARGET\r\nContent-Length: 0\r\n\r\n"
    try follows([.readBody, .send("HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n"), .send(redirect)]) { _, answer, _ in
      #expect(answer.status == 200 && answer.interim.map(\.status) == [103])
    }
  }

  @Test func `a Location of 16 KiB is followed, one that no head can hold is none`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let long = String(repeating: "x", count: 16 << 10)
      let (name, target) = try world.redirecting { "/echo?id=\($0)&long=\(long)" }
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.status == 200)
      #expect(try world.only(target).target.utf8.count > 16 << 10)
      let (huge, none) = try world.redirecting { "/echo?id=\($0)&long=\(long)\(long)\(long)\(long)\(long)" }
      #expect(try proxy.ask("http://api.test/?id=\(huge)").status == 502)
      #expect(try world.origin.exchanges(none).isEmpty)
    }
  }

  @Test func `endless redirects end with the twentieth, cookies that grow with them before that`() throws {
    let top = "limits: {response_head: 16KiB}"
    try withProxy(world.configuration("{follow: 20}", top: top)) { proxy in
      for (cookie, expected) in [("", 21), ("Set-Cookie: a=\(String(repeating: "c", count: 4_000))\r\n", 5)] {
        let name = Origin.newName()
        let steps = (0..<40).map { [Origin.Step.readBody, Redirecting.answer(302, "/\($0)?id=\(name)", cookie)] }
        try world.origin.scripts(of: name, steps)
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(
          answer.status == 302 && answer.details?.hasPrefix("\(expected - 1) redirects followed") == true,
          "\(answer.head.suffix(400))")
        #expect(try world.origin.exchanges(name).count == expected)
      }
    }
  }

  @Test func `a target that answers nothing is waited for as any origin is`() throws {
    let configuration = world.configuration(world.standard(), top: "timeouts: {response_head: 300ms}")
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/?id=\($0)" }
      try world.origin.script(target, [.readBody, .awaitClose])
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.status == 504 && answer.proxyError == "connection_read_timeout")
    }
  }

  @Test func `the target's certificate is judged for the target`() throws {
    let other = "other.example.org"
    let redirects = #"{follow: 5, to: ["\#(other):\#(world.port)"]}"#
    let configuration = world.configuration(redirects).replacingOccurrences(
      of: "hosts: {", with: "hosts: {\(other): [127.0.0.1], ")
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting { "https://\(other):\(world.port)/?id=\($0)" }
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.status == 502 && answer.proxyError == "tls_certificate_error", "\(answer.head)")
      #expect(try world.origin.exchanges(target).isEmpty)
    }
  }

  @Test func `forbidden addresses hold for hosts in 'to'`() throws {
    let redirects = #"{follow: 5, to: ["127.0.0.1:\#(world.port)", "localhost:\#(world.port)"]}"#
    try withProxy(world.configuration(redirects)) { proxy in
      for host in ["127.0.0.1", "LOCALHOST."] {
        let name = Origin.newName()
        // From another host: the entry's own origin is this address, too.
        try world.origin.script(name, [.readBody, Redirecting.answer(302, "https://\(host):\(world.port)/x?id=\(name)")])
        let answer = try proxy.ask("http://clear.test/?id=\(name)")
        #expect(answer.status == 403 && answer.proxyError == "destination_ip_prohibited", "\(answer.head)")
      }
    }
  }

  @Test func `an app that leaves ends the hop`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (name, target) = try world.redirecting { "/?id=\($0)" }
      try world.origin.script(target, [.readBody, .awaitClose])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try world.origin.await(target)
      client.close()
      try world.origin.await(target, state: "closed")
    }
  }
}

extension Origin {
  /// As many scripts as there are, one for each exchange in turn.
  func scripts(of name: String, _ scripts: [[Step]]) throws {
    _ = try ask("/script?name=\(name)", String(decoding: try JSONEncoder().encode(scripts), as: UTF8.self), as: Nothing.self)
  }
}
