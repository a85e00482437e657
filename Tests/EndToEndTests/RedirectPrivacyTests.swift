import Foundation
import Testing

/// What a redirect's target does not get to know, and what it cannot say in the name of the host that the app asked.
@Suite struct RedirectPrivacyTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private static let rules = ", request_headers: {remove: [X-Internal, \"X-Debug-*\"], set: {User-Agent: billing}}"
  private var cdn: String { "https://\(Redirecting.cdn):\(world.port)" }

  @Test func `what the app's entry takes out or replaces does not reach a host, nor do trailers of these names`() throws {
    try withProxy(world.configuration(world.standard(), entry: Self.rules)) { proxy in
      let (name, target) = try world.redirecting(307) { "\(cdn)/?id=\($0)" }
      let fields = ["X_Internal: 5ecret-1", "X-Debug-Id: 5ecret-2", "User-Agent: 5ecret-3", "X-Other: stays"]
      let client = try proxy.connect()
      try client.send(
        "PUT http://api.test/?id=\(name) HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n"
          + fields.joined(separator: "\r\n") + "\r\n\r\n3\r\nabc\r\n0\r\nX-Debug-Sum: 5ecret-4\r\nX-Sum: 1\r\n\r\n")
      #expect(try client.readAnswer().status == 200)
      let received = try world.only(target)
      #expect(!received.hasSecret && received["X-Other"] == "stays" && received["User-Agent"] == nil, "\(received.raw_head)")
      #expect(received.trailers == [["X-Sum", "1"]])
      #expect(try world.only(name)["User-Agent"] == "billing")
    }
  }

  @Test func `what the app's entry takes out stays out on hosts behind hosts, and rules of another entry are its own`() throws {
    let entry = #"{name: ruled, match: ruled.test, origin: "\#(cdn)", request_headers: {remove: [X-Other]}}"#
    let configuration = world.configuration("{follow: 3, to: [ruled]}", entry: Self.rules, entries: [entry])
    try withProxy(configuration) { proxy in
      let (name, target) = try world.redirecting { "\(cdn)/?id=\($0)" }
      #expect(try proxy.ask("http://api.test/?id=\(name)", ["X-Internal: 1", "X-Other: 2"]).status == 200)
      let received = try world.only(target)
      #expect(received["X-Internal"] == "1" && received["X-Other"] == nil, "\(received.raw_head)")
    }
    try withProxy(world.configuration(world.standard(), entry: Self.rules)) { proxy in
      let (last, middle, name) = (Origin.newName(), Origin.newName(), Origin.newName())
      try world.origin.script(name, [.readBody, Redirecting.answer(302, "\(cdn)/?id=\(middle)")])
      try world.origin.script(middle, [.readBody, Redirecting.answer(302, "\(cdn)/?id=\(last)")])
      #expect(try proxy.ask("http://api.test/?id=\(name)", ["X-Internal: 5ecret-1"]).status == 200)
      #expect(try !world.only(middle).hasSecret && !world.only(last).hasSecret)
    }
  }

  @Test func `elsewhere, Referer is an origin, and Origin is null unless it is the one that was asked`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let places = ["\(cdn)/", "https://\(Redirecting.pay):\(world.port)/base"]
      for (sent, expected) in [
        (
          ["Referer: http://api.test/page-5ecret?x=5ecret#5ecret", "Origin: http://api.test"],
          ["http://api.test/", "http://api.test"]
        ),
        (["Referer: https://other.test:444/5ecret", "Origin: https://other.test:444"], ["https://other.test:444/", "null"]),
        (["Referer: https://user:pw-5ecret@a.test/", "origin: http://API.test:80"], [nil, "http://API.test:80"]),
        (["REFERER: /5ecret", "Origin: 5ecret"], [nil, "null"]), (["Referer: about:5ecret"], [nil, nil]),
      ] as [([String], [String?])] {
        for place in places {
          let (name, target) = try world.redirecting { "\(place)?id=\($0)" }
          #expect(try proxy.ask("http://api.test/?id=\(name)", sent).status == 200)
          let received = try world.only(target)
          #expect([received["Referer"], received["Origin"]] == expected, "\(received.raw_head)")
        }
        let (name, target) = try world.redirecting { "/?id=\($0)" }
        #expect(try proxy.ask("http://api.test/?id=\(name)", sent).status == 200)
        let (before, after) = (try world.only(name), try world.only(target))
        #expect([before["Referer"], before["Origin"]] == [after["Referer"], after["Origin"]], "\(after.raw_head)")
      }
      // The second host is led to by the first one, and not by the origin that the page is from.
      let (last, middle, name) = (Origin.newName(), Origin.newName(), Origin.newName())
      try world.origin.script(name, [.readBody, Redirecting.answer(302, "\(cdn)/?id=\(middle)")])
      try world.origin.script(middle, [.readBody, Redirecting.answer(302, "\(cdn)/?id=\(last)")])
      #expect(try proxy.ask("http://api.test/?id=\(name)", ["Origin: http://api.test"]).status == 200)
      #expect(try world.only(middle)["Origin"] == "http://api.test" && world.only(last)["Origin"] == "null")
    }
  }

  @Test func `what needed the app's Authorization is nobody else's, whatever the answer elsewhere says`() throws {
    try withProxy(world.configuration(world.standard(), entry: ", client_authorization: keep")) { proxy in
      for (sent, expected) in [(["Authorization: Bearer app-5ecret"], "no-cache"), ([], "public, max-age=9")] {
        let (name, target) = try world.redirecting(301) { "\(cdn)/?id=\($0)" }
        try world.origin.script(
          target, [.readBody, Redirecting.answer(200, nil, "Cache-Control: public, max-age=9\r\n")])
        let answer = try proxy.ask("http://api.test/?id=\(name)", sent)
        #expect(answer.status == 200 && answer.all("Cache-Control") == [expected], "\(answer.head)")
      }
    }
  }

  /// What speaks for a whole host, or has the app ask again.
  private static let hostwide = [
    "Refresh: 0; url=/next", "Strict-Transport-Security: max-age=1", "Clear-Site-Data: \"cookies\"", "Set-Cookie2: a=b",
    "Alt-Svc: h3=\":443\"", "NEL: {}", "Report-To: {}", "Reporting-Endpoints: a=\"/b\"", "Public-Key-Pins: max-age=1",
    "Public-Key-Pins-Report-Only: max-age=1", "Expect-CT: max-age=1", "Service-Worker-Allowed: /", "Accept-CH: DPR",
    "Origin-Agent-Cluster: ?1", "Set-Login: logged-in",
  ]

  @Test func `no answer from elsewhere speaks for the host that was asked`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      let fields = Self.hostwide.joined(separator: "\r\n") + "\r\n"
      let trailers = "Content-Location: /5ecret\r\nLink: </x>; rel=next\r\nX-Sum: 1\r\n"
      for place in ["\(cdn)/", "https://\(Redirecting.pay):\(world.port)/base"] {
        let (name, target) = try world.redirecting { "\(place)?id=\($0)" }
        try world.origin.script(
          target,
          [
            .readBody, .send("HTTP/1.1 103 Early Hints\r\nX-Hint: 1\r\n\(fields)\r\n"),
            .send(
              "HTTP/1.1 200 OK\r\nX-Kept: 1\r\n\(fields)Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\(fields)\(trailers)\r\n"
            ),
          ])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(
          answer.text == "hi" && answer["X-Kept"] == "1" && answer.interim.map { $0["X-Hint"] } == ["1"], "\(answer.head)")
        for field in Self.hostwide {
          let name = String(field.prefix { $0 != ":" })
          #expect(answer[name] == nil && answer.interim.allSatisfy { $0[name] == nil }, "\(field)")
        }
        #expect(answer.trailers.map(\.name) == ["X-Sum"], "\(answer.trailers)")
      }
    }
  }

  @Test func `the app's own entry speaks for its host at the end of redirects, too`() throws {
    try withProxy(world.configuration(world.standard())) { proxy in
      for (sent, refresh) in [
        ("0; url=next?id=1", "0; url=http://api.test/dir/next?id=1"), ("5;URL='../a'", "5;URL='http://api.test/a'"),
        ("3, \"b\"", "3, \"http://api.test/dir/b\""), ("1; url=/next", "1; url=/next"), ("7", "7"),
        ("0; url=https://other.test/", "0; url=https://other.test/"),
      ] {
        let (name, target) = try world.redirecting { "/dir/x?id=\($0)" }
        try world.origin.script(
          target,
          [
            .readBody,
            .send("HTTP/1.1 200 OK\r\nRefresh: \(sent)\r\nStrict-Transport-Security: max-age=1\r\nContent-Length: 2\r\n\r\nhi"),
          ])
        let answer = try proxy.ask("http://api.test/?id=\(name)")
        #expect(answer["Refresh"] == refresh && answer["Strict-Transport-Security"] == "max-age=1", "\(answer.head)")
      }
    }
  }
}
