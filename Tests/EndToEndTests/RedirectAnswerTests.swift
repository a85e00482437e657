import Foundation
import Testing

/// What the app gets at the end of redirects: the last answer, as the answer to what it asked for.
@Suite struct RedirectAnswerTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  @Test func `cookies of followed answers join the last one within one entry, and none is stored`() throws {
    try withProxy(world.configuration(world.standard(), entry: ", rewrite: {secure_cookies: true}")) { proxy in
      let name = Origin.newName()
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "/2?id=\(name)", "Set-Cookie: a=1; Secure\r\nX-Gone: 1\r\n")],
        [.readBody, Redirecting.answer(302, "/3?id=\(name)", "Set-Cookie: b=2\r\nset-cookie: c=3\r\n")],
        [.readBody, .send("HTTP/1.1 200 OK\r\nSet-Cookie: b=4; Secure\r\nContent-Length: 2\r\n\r\nhi")])
      let answer = try proxy.ask("http://api.test/1?id=\(name)", ["Cookie: own=1"])
      #expect(answer.text == "hi" && answer.all("Set-Cookie") == ["a=1", "b=2", "c=3", "b=4"] && answer["X-Gone"] == nil)
      #expect(try world.origin.exchanges(name).map { $0.all("Cookie") } == [["own=1"], ["own=1"], ["own=1"]])
    }
  }

  @Test(arguments: [", rewrite: {secure_cookies: true}", ""])
  func `of cookies with one name, the last answer's comes last`(_ entry: String) throws {
    try withProxy(world.configuration(world.standard(), entry: entry)) { proxy in
      let name = Origin.newName()
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "/2?id=\(name)", "Set-Cookie: sid=old; Path=/\r\n")],
        [.readBody, Redirecting.answer(302, "/3?id=\(name)", "Set-Cookie: sid=newer; Path=/\r\n")],
        [.readBody, .send("HTTP/1.1 200 OK\r\nSet-Cookie: sid=new; Path=/\r\nContent-Length: 2\r\n\r\nhi")])
      let answer = try proxy.ask("http://api.test/1?id=\(name)")
      #expect(answer.all("Set-Cookie") == ["sid=old; Path=/", "sid=newer; Path=/", "sid=new; Path=/"])
    }
  }

  @Test func `cookies of another entry's answer are none of the app's host`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      for place in ["https://\(Redirecting.cdn):\(world.port)/", "https://\(Redirecting.pay):\(world.port)/base"] {
        let (name, target) = try world.redirecting(302, "Set-Cookie: a=1\r\n") { "\(place)?id=\($0)" }
        try world.origin.script(
          target, [.readBody, .send("HTTP/1.1 200 OK\r\nSet-Cookie: b=2\r\nContent-Length: 2\r\n\r\nhi")])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.text == "hi" && answer.all("Set-Cookie").isEmpty)
      }
    }
  }

  @Test func `references of an answer from elsewhere are absolute`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      for (place, expected) in [
        ("https://\(Redirecting.cdn):\(world.port)/dir/x", "https://\(Redirecting.cdn):\(world.port)/dir/next"),
        ("https://\(Redirecting.pay):\(world.port)/base/dir/x", "http://pay.test/v1/dir/next"),
      ] {
        let (name, target) = try world.redirecting { "\(place)?id=\($0)" }
        try world.origin.script(
          target, [.readBody, .send("HTTP/1.1 201 OK\r\nLocation: next\r\nLink: <next>; rel=x\r\nContent-Length: 2\r\n\r\nhi")])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer["Location"] == expected && answer["Link"] == "<\(expected)>; rel=x", "\(answer.head)")
      }
    }
  }

  @Test func `rules of the target's entry hold for its request and answer`() throws {
    let rules =
      #"{name: ruled, match: ruled.test, origin: "https://\#(Redirecting.cdn):\#(world.port)", request_headers: {set: {X-App: ruled}}, response_headers: {set: {X-Answer: ruled}}, decompress: true}"#
    let redirects = "{follow: 5, to: [ruled]}"
    let configuration = world.configuration(
      redirects, entry: ", request_headers: {set: {X-App: api, X-Api: yes}}, response_headers: {set: {X-Answer: api}}",
      entries: [rules])
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/encoded/gzip/5000?id=\($0)" }
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.body.count == 5_000 && answer["Content-Encoding"] == nil && answer["X-Answer"] == "ruled")
      let received = try world.only(target)
      #expect(received["X-App"] == "ruled" && received["X-Api"] == nil && received["Accept-Encoding"] == "gzip")
      #expect(try world.only(name)["X-App"] == "api")
    }
  }

  @Test func `requests that the app has sent behind it are answered in order`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (first, one) = try world.redirecting(307) { "/echo?id=\($0)" }
      let (second, two) = try world.redirecting(303) { "https://\(Redirecting.cdn):\(world.port)/echo?id=\($0)" }
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("POST", "http://api.test/?id=\(first)", body: "GET /smuggled HTTP/1.1\r\n\r\n")
          + ProxyProcess.request("POST", "http://api.test/?id=\(second)", body: "GET /smuggled HTTP/1.1\r\n\r\n")
          + ProxyProcess.request("GET", "http://api.test/echo?n=3"))
      #expect(try client.readAnswer().received().target == "/echo?id=\(one)")
      #expect(try client.readAnswer().received().target == "/echo?id=\(two)")
      #expect(try client.readAnswer().received().target == "/echo?n=3")
      #expect(try world.only(one).body == "GET /smuggled HTTP/1.1\r\n\r\n" && world.only(two).body == "")
    }
  }

  @Test func `below a wildcard, another host gets the entry's credential, and none of the app's cookies`() throws {
    let entry =
      #"{name: wide, match: "https://*.example.test:\#(world.port)", credential: api, wildcard_credential: true, redirects: {follow: 3}}"#
    let top = "intercept: {ca: memory, publish: \(try Surroundings.newFolder())}"
    try withProxy(world.configuration("relay", entries: [entry], top: top)) { proxy in
      let (name, target) = try world.redirecting { "https://\(Redirecting.pay):\(world.port)/next?id=\($0)" }
      let got = try ChildProcess.run(
        "curl",
        [
          "-sSk", "--proxy", "http://127.0.0.1:\(proxy.port)", "-H", "Cookie: a=app-5ecret",
          "https://\(Redirecting.cdn):\(world.port)/?id=\(name)",
        ])
      #expect(got.output == "ok\n", "\(got.output) \(got.errors)")
      #expect(try world.only(name)["Cookie"] == "a=app-5ecret")
      let received = try world.only(target)
      #expect(received.tls?.sni == Redirecting.pay && received.all("Authorization") == ["Bearer \(Redirecting.token)"])
      #expect(received["Cookie"] == nil)
    }
  }

  @Test func `below a wildcard, cookies and references of another host are none of the host that was asked`() throws {
    let entry =
      #"{name: wide, match: "https://*.example.test:\#(world.port)", credential: api, wildcard_credential: true, redirects: {follow: 3}}"#
    let top = "intercept: {ca: memory, publish: \(try Surroundings.newFolder())}"
    try withProxy(world.configuration("relay", entries: [entry], top: top)) { proxy in
      let (name, next, last) = (Origin.newName(), Origin.newName(), Origin.newName())
      let pay = "\(Redirecting.pay):\(world.port)"
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "https://\(pay)/2?id=\(next)", "Set-Cookie: own=1\r\n")])
      try world.origin.script(next, [.readBody, Redirecting.answer(302, "/3?id=\(last)", "Set-Cookie: a=pay\r\n")])
      try world.origin.script(
        last,
        [
          .readBody,
          .send(
            "HTTP/1.1 201 OK\r\nSet-Cookie: c=pay\r\nLocation: /new\r\nContent-Length: 2\r\n\r\nhi"),
        ])
      let url = "https://\(Redirecting.cdn):\(world.port)/1?id=\(name)"
      let got = try ChildProcess.run("curl", ["-sSki", "--proxy", "http://127.0.0.1:\(proxy.port)", url])
      #expect(got.output.hasSuffix("hi") && !got.output.contains("Set-Cookie"), "\(got.output) \(got.errors)")
      #expect(got.output.contains("\r\nLocation: https://\(pay)/new\r\n"), "\(got.output)")
      #expect(try world.only(last).tls?.sni == Redirecting.pay)
    }
  }

  @Test func `interim answers and a change of protocol elsewhere bring no cookie, and references that are absolute`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let cdn = "https://\(Redirecting.cdn):\(world.port)"
      let fields = "Set-Cookie: a=cdn\r\nLink: </style>; rel=preload\r\n"
      let (name, target) = try world.redirecting { "\(cdn)/?id=\($0)" }
      let hints = "HTTP/1.1 103 Early Hints\r\n\(fields)\r\n"
      try world.origin.script(
        target, [.readBody, .send(hints + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")])
      let answer = try proxy.ask("http://api.test/?id=\(name)")
      #expect(answer.text == "hi" && answer.interim.map(\.status) == [103])
      #expect(answer.interim[0].all("Set-Cookie").isEmpty && answer.interim[0]["Link"] == "<\(cdn)/style>; rel=preload")

      let (first, socket) = try world.redirecting(302, "Set-Cookie: own=1\r\n") { "\(cdn)/?id=\($0)" }
      try world.origin.script(
        socket,
        [.readBody, .send("HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\(fields)\r\n")])
      let client = try proxy.connect()
      try client.send(
        ProxyProcess.request("GET", "http://api.test/?id=\(first)", ["Connection: Upgrade", "Upgrade: websocket"]))
      let switched = try client.readAnswer()
      #expect(switched.status == 101 && switched.all("Set-Cookie").isEmpty, "\(switched.head)")
      #expect(switched["Link"] == "<\(cdn)/style>; rel=preload", "\(switched.head)")
    }
  }

  @Test func `inside of TLS that the proxy answers, redirects are followed as well`() throws {
    let entry = #"{match: "https://secure.test", origin: "\#(world.api)", credential: api, redirects: \#(world.standard())}"#
    let configuration = world.configuration(
      "relay", entries: [entry], top: "intercept: {ca: memory, publish: \(try Surroundings.newFolder())}")
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting { "\(world.api)/next?id=\($0)" }
      let got = try ChildProcess.run(
        "curl", ["-sSk", "-D-", "--proxy", "http://127.0.0.1:\(proxy.port)", "https://secure.test/?id=\(name)"])
      #expect(got.output.contains("ok\n") && got.output.contains("1 redirect followed"), "\(got.output) \(got.errors)")
      #expect(try world.only(target).all("Authorization") == ["Bearer \(Redirecting.token)"])
    }
  }
}
