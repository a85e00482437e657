import Foundation
import Testing

/// Where redirects may lead, and with which credential.
@Suite struct RedirectTargetTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  @Test func `of an entry's several origins, the one that the redirect names is asked, as the app's own`() throws {
    let cdn = "https://\(Redirecting.cdn):\(world.port)"
    let list = #"{name: list, match: list.test, origin: ["\#(world.api)", "\#(cdn)"], credential: api, redirects: {follow: 3}}"#
    try withProxy(world.configuration("relay", entries: [list])) { proxy in
      let name = Origin.newName()
      // What both have, one after the other; then what is relative to the second.
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "\(cdn)/x?id=\(name)")],
        [.readBody, Redirecting.answer(302, "y?id=\(name)")],
        [.readBody, Redirecting.answer(200, nil, body: "end")])
      let answer = try proxy.ask("http://list.test/x?id=\(name)", ["Cookie: a=own"])
      #expect(answer.text == "end", "\(answer.head)")
      #expect(answer.details == "2 redirects followed, last to \(Redirecting.cdn):\(world.port)")
      let seen = try world.origin.exchanges(name)
      #expect(seen.map { $0.tls?.sni } == ["localhost", Redirecting.cdn, Redirecting.cdn])
      #expect(seen.map { $0["Cookie"] } == ["a=own", "a=own", "a=own"])
      #expect(seen.allSatisfy { $0.all("Authorization") == ["Bearer \(Redirecting.token)"] })
    }
  }

  @Test func `below the entry's own origin, with the entry's credential`() throws {
    try withProxy(world.configuration("{follow: 5}")) { proxy in
      each(
        [
          { "/next?id=\($0)" }, { "next?id=\($0)" }, { "\(world.api)/next?id=\($0)#part" }, { "?id=\($0)" },
          { "//localhost:\(world.port)/a/../next?id=\($0)" },
        ] as [(String) -> String]
      ) { location throws in
        let (name, next) = try world.redirecting(to: location)
        let answer = try proxy.ask("http://api.test/echo?id=\(name)", ["Authorization: Bearer mine", "X-App: 1"])
        #expect(
          answer.status == 200 && answer.details == "1 redirect followed, last to localhost:\(world.port)", "\(answer.head)")
        #expect(answer.proxyError == nil)
        let received = try world.only(next)
        #expect(received.all("Authorization") == ["Bearer \(Redirecting.token)"] && received["X-App"] == "1")
        #expect(received["Host"] == "localhost:\(world.port)" && received.tls?.sni == "localhost")
      }
    }
  }

  @Test func `a host in 'to' is asked without any credential, an entry in 'to' with its own`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let own = ["Authorization: Bearer app-5ecret", "Cookie: app=5ecret", "x_pay_key: app-5ecret", "X-App: 1"]
      let (name, next) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/file?id=\($0)" }
      let answer = try proxy.ask("http://api.test/?id=\(name)", own)
      #expect(answer.text == "ok\n" && answer.details == "1 redirect followed, last to \(Redirecting.cdn):\(world.port)")
      let atHost = try world.only(next)
      #expect(atHost.tls?.sni == Redirecting.cdn && atHost["Host"] == "\(Redirecting.cdn):\(world.port)")
      #expect(!atHost.hasSecret && atHost["X-App"] == "1" && atHost["Authorization"] == nil && atHost["Cookie"] == nil)

      let (first, second) = try world.redirecting { "https://\(Redirecting.pay):\(world.port)/base/pay?id=\($0)" }
      #expect(try proxy.ask("http://api.test/?id=\(first)", own).text == "ok\n")
      let atEntry = try world.only(second)
      #expect(atEntry.target == "/base/pay?id=\(second)" && atEntry.tls?.sni == Redirecting.pay)
      #expect(atEntry.all("X-Pay-Key") == [Redirecting.payKey] && atEntry.all("x_pay_key").isEmpty)
      #expect(atEntry["Authorization"] == nil && atEntry["Cookie"] == nil)
      // The first hop has had the credential, and the app's cookie.
      #expect(try world.only(first).all("Cookie") == ["app=5ecret"])
    }
  }

  @Test func `other targets are relayed, and rewritten`() throws {
    let admin = #"{name: admin, match: api.test/admin, origin: "\#(world.api)", credential: pay}"#
    try withProxy(world.configuration("{follow: 2}", entries: [admin])) { proxy in
      each([
        ("https://other.example.test/x", "https://other.example.test/x", "to' has other.example.test"),
        ("https://localhost:1/x", "https://localhost:1/x", "to' has localhost"),
        // Of another entry at the same origin, with another credential.
        ("\(world.api)/admin/x", "http://api.test/admin/x", "entry api.test does not serve"),
        ("/admin", "/admin", "entry api.test does not serve"),
        ("http://localhost:\(world.port)/x", "http://localhost:\(world.port)/x", "from https to http"),
        ("https://u:p@localhost:\(world.port)/x", "https://u:p@localhost:\(world.port)/x", "userinfo"),
        ("mailto:a@example.test", "mailto:a@example.test", "no URL"), ("/a\\b", "/a\\b", "no URL"),
      ]) { (location, relayed, why) throws in
        let name = Origin.newName()
        try world.origin.script(name, [.readBody, Redirecting.answer(302, location)])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.status == 302 && answer["Location"] == relayed && answer.text == "moved", "\(answer.head)")
        #expect(
          answer.details?.hasPrefix("redirect relayed: ") == true && answer.details?.contains(why) == true, "\(answer.head)")
        #expect(answer.proxyError == nil)
        _ = try world.only(name)
      }
      for fields in ["", "Location: /a\r\nLocation: /a\r\n"] {
        let name = Origin.newName()
        try world.origin.script(name, [.readBody, Redirecting.answer(301, nil, fields)])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer.status == 301 && answer.all("Location").count == (fields.isEmpty ? 0 : 2))
        #expect(answer.details?.contains(fields.isEmpty ? "no Location" : "several Locations") == true)
      }
    }
  }

  @Test func `a target that was met before, and one more than 'follow', are relayed`() throws {
    try withProxy(world.configuration("{follow: 3}", top: "admin: 127.0.0.1:0")) { proxy in
      let name = Origin.newName()
      try world.origin.script(
        name, [.readBody, Redirecting.answer(302, "/2?id=\(name)")], [.readBody, Redirecting.answer(302, "/1?id=\(name)")])
      let loop = try proxy.ask("http://api.test/1?id=\(name)")
      #expect(loop.status == 302 && loop["Location"] == "/1?id=\(name)")
      #expect(
        loop.details?.hasPrefix("1 redirect followed, last to localhost") == true
          && loop.details?.hasSuffix("asked for before") == true)
      #expect(try world.origin.exchanges(name).map(\.target) == ["/1?id=\(name)", "/2?id=\(name)"])

      let long = Origin.newName()
      let steps = (2...6).map { [Origin.Step.readBody, Redirecting.answer(302, "step/\($0)?id=\(long)")] }
      try world.origin.script(long, steps[0], steps[1], steps[2], steps[3], steps[4])
      let answer = try proxy.ask("http://api.test/dir/1?id=\(long)")
      // The app would resolve it against what it has asked for.
      #expect(
        answer.status == 302 && answer["Location"] == "http://api.test/dir/step/step/step/step/5?id=\(long)", "\(answer.head)")
      #expect(
        answer.details?.hasPrefix("3 redirects followed, last to localhost") == true
          && answer.details?.contains("3 were followed") == true)
      #expect(try world.origin.exchanges(long).count == 4)
      #expect(try proxy.metric(#"authproxy_redirects_total{upstream="api.test",result="followed"}"#) == 4)
      #expect(try proxy.metric(#"authproxy_redirects_total{upstream="api.test",result="loop"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_redirects_total{upstream="api.test",result="too_many"}"#) == 1)
      #expect(try proxy.metric(#"authproxy_requests_total{upstream="api.test",code="302"}"#) == 2)
      let line = try #require(proxy.process.awaitLine { $0.contains("/dir/1") })
      #expect(
        line.contains(#""redirects":3"#) && line.contains(#""attempts":4"#) && line.contains(#""upstream":"api.test""#),
        "\(line)")
    }
  }

  @Test func `http may lead to https, never back`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let (name, next) = try world.redirecting { "https://\(Redirecting.cdn):\(world.port)/?id=\($0)" }
      #expect(try proxy.ask("http://clear.test/?id=\(name)").text == "ok\n")
      #expect(try world.only(next).tls?.sni == Redirecting.cdn)
      let back = "http://127.0.0.1:\(world.origin.ports.http)/"
      let second = Origin.newName()
      try world.origin.script(
        second, [.readBody, Redirecting.answer(302, "https://\(Redirecting.cdn):\(world.port)/?id=\(second)")],
        [.readBody, Redirecting.answer(302, back)])
      let answer = try proxy.ask("http://clear.test/?id=\(second)")
      #expect(answer.status == 302 && answer["Location"] == back)
      #expect(answer.details?.contains("from https to http") == true)
    }
  }

  @Test func `an entry that the client may not use, or that does not serve the method, is no target`() throws {
    let top = """
      listen: [{address: "127.0.0.1:0", clients: required}]
      clients: [{name: narrow, password: pw-5ecret, allow: [api.test]}, {name: wide, password: pw-5ecret, allow: [api.test, pay]}]
      """
    func login(_ name: String) -> String {
      "Proxy-Authorization: Basic " + Data("\(name):pw-5ecret".utf8).base64EncodedString()
    }
    try withProxy(world.configuration(world.standard(), top: top)) { proxy in
      each([("narrow", "GET", 302), ("wide", "GET", 200), ("wide", "PUT", 307)]) { (client, method, expected) throws in
        let (name, next) = try world.redirecting(method == "PUT" ? 307 : 302) {
          "https://\(Redirecting.pay):\(world.port)/base?id=\($0)"
        }
        let answer = try proxy.ask(method, "http://api.test/?id=\(name)", [login(client)], body: method == "PUT" ? "x" : nil)
        #expect(answer.status == expected, "\(client) \(method): \(answer.head)")
        #expect(try world.origin.exchanges(next).count == (expected == 200 ? 1 : 0))
        if expected != 200 { #expect(answer.details?.contains("entry pay does not serve") == true, "\(answer.head)") }
        for exchange in try world.origin.exchanges(next) { #expect(exchange["Proxy-Authorization"] == nil) }
      }
    }
  }

  @Test func `check and explain say what is followed`() throws {
    let path = try Surroundings.newFolder() + "/proxy.conf"
    try ProxyProcess.write(try ProxyProcess.complete(world.configuration(world.standard())), to: path)
    let check = try ChildProcess.run(Surroundings.program, ["check", "--config", path])
    #expect(check.status == .exited(0), "\(check.errors)")
    let followed = "up to 5 of GET, HEAD, POST, PUT, DELETE, PATCH, OPTIONS followed, to its own origin"
    #expect(unwrapped(check.output).contains("redirects: \(followed) "), "\(check.output)")
    for (method, expected) in [
      (
        "GET",
        [
          "up to 5 followed, to its own origin", "to https://\(Redirecting.cdn):\(world.port), without a credential",
          "of upstream pay",
        ]
      ),
      ("PROPFIND", ["relayed for PROPFIND"]),
    ] {
      let explain = try ChildProcess.run(Surroundings.program, ["explain", "--config", path, method, "http://api.test/"])
      for text in expected { #expect(unwrapped(explain.output).contains(text), "\(explain.output) \(explain.errors)") }
    }
    let other = try ChildProcess.run(Surroundings.program, ["explain", "--config", path, "GET", "http://pay.test/v1"])
    #expect(!other.output.contains("redirects"), "\(other.output)")
  }

  @Test func `what was relayed before is relayed: without the key, and for methods that it does not list`() throws {
    for (redirects, method) in [("relay", "GET"), ("{follow: 5}", "POST"), ("{follow: 5, methods: [POST]}", "GET")] {
      try withProxy(world.configuration(redirects)) { proxy in
        let (name, next) = try world.redirecting { "\(world.api)/next?id=\($0)" }
        let answer = try proxy.ask(method, "http://api.test/?id=\(name)", body: method == "POST" ? "x" : nil)
        #expect(
          answer.status == 302 && answer["Location"] == "http://api.test/next?id=\(next)" && answer["Proxy-Status"] == nil)
      }
    }
  }

  /// Pages break long rows.
  private func unwrapped(_ page: String) -> String { page.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
}
