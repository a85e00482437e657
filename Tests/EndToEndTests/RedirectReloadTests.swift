import Foundation
import Testing

/// Redirects while the configuration changes: a request keeps what it began with.
@Suite struct RedirectReloadTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  private struct Redirected {
    let answer: Answer
    let location: String
    /// Of the exchange that it leads to.
    let target: String
  }

  /// A request that the origin redirects once `meanwhile` is done.
  /// - Parameter place: where to, up to the path.
  private func redirected(
    _ proxy: ProxyProcess, _ method: String = "GET", from app: String = "api.test", behind hops: Int = 0, to place: String,
    meanwhile: () throws -> Void
  ) throws -> Redirected {
    let (name, target) = (Origin.newName(), Origin.newName())
    let location = "\(place)?id=\(target)"
    let before = (0..<hops).map { [Origin.Step.readBody, Redirecting.answer(307, "/\($0)?id=\(name)")] }
    try world.origin.scripts(of: name, before + [[.readBody, .gate("on"), Redirecting.answer(307, location)]])
    let client = try proxy.connect()
    try client.send(ProxyProcess.request(method, "http://\(app)/?id=\(name)", body: method == "POST" ? "x" : nil))
    try world.origin.await(name, gate: "on")
    try meanwhile()
    try world.origin.open("on", of: name)
    return Redirected(answer: try client.readAnswer(), location: location, target: target)
  }

  private var cdn: String { "https://\(Redirecting.cdn):\(world.port)/" }
  private var pay: String { "https://\(Redirecting.pay):\(world.port)/base" }

  @Test func `a redirect is followed only as long as the file has it followed`() throws {
    let withoutCDN = #"{follow: 5, to: ["other.example.test:\#(world.port)"]}"#
    for (next, status) in [(world.standard(), 200), ("relay", 307), (withoutCDN, 307), (nil, 307)] {
      try withProxy(world.configuration(world.standard())) { proxy throws in
        // nil: the entry itself is gone.
        let present = world.configuration(next ?? world.standard(), top: "name: other")
        let sent = try redirected(proxy, to: cdn) {
          try proxy.reload(
            next == nil ? present.replacingOccurrences(of: "match: api.test", with: "match: other.test") : present)
        }
        #expect(sent.answer.status == status, "\(next ?? "no entry") \(sent.answer.head)")
        #expect(try world.origin.exchanges(sent.target).count == (status == 200 ? 1 : 0))
        guard next != nil else { return }
        let later = try redirected(proxy, to: cdn) {}
        #expect(later.answer.status == status, "\(later.answer.head)")
      }
    }
  }

  /// - Parameters:
  ///   - entry: more keys of pay's entry; nil: there is none.
  private func configuration(pay entry: String?, _ top: String = "") -> String {
    let redirects = #"{follow: 5, to: ["\#(Redirecting.cdn):\#(world.port)"\#(entry == nil ? "" : ", pay")]}"#
    let text = world.configuration(redirects, top: top)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).compactMap { line -> String? in
      guard line.contains("name: pay,") || line.hasPrefix("  pay:") else { return String(line) }
      guard let entry else { return nil }
      return line.contains("name: pay,") ? line.dropLast() + entry + "}" : String(line)
    }
    return lines.joined(separator: "\n")
  }

  @Test func `what a reload withdraws gets no new exchange`() throws {
    let changed = [
      configuration(pay: nil),
      // Only `to` has lost it.
      configuration(pay: "").replacingOccurrences(of: ", pay]}", with: "]}"),
      configuration(
        pay: ", trust: strict", "trust: {strict: [{default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: true}}]}"
      ),
      configuration(pay: ", clients: [other]", "clients: [{name: other, password: pw-5ecret-other}]"),
      configuration(pay: "").replacingOccurrences(of: "credential: pay, ", with: ""),
      configuration(pay: "").replacingOccurrences(of: "/base", with: "/other"),
      // The name stayed, and means another credential.
      configuration(pay: "").replacingOccurrences(of: "header: {name: X-Pay-Key, value:", with: "bearer: {token:"),
      configuration(pay: "").replacingOccurrences(of: "X-Pay-Key", with: "X-Other-Key"),
      configuration(pay: try certificate("client.pem")),
      configuration(pay: ", via: corporate", Self.parent),
    ]
    for next in changed {
      try withProxy(configuration(pay: "")) { proxy throws in
        let sent = try redirected(proxy, to: pay) {
          try proxy.reload(next)
        }
        #expect(sent.answer.status == 307 && sent.answer["Location"] == sent.location, "\(next) \(sent.answer.head)")
        #expect(
          sent.answer.details == "redirect relayed: a reload has changed what serves its target", "\(sent.answer.head)")
        #expect(try world.origin.exchanges(sent.target).isEmpty)
      }
    }
  }

  @Test func `a redirect is followed only if the app's request would be followed now`() throws {
    let known = configuration(pay: "")
    func changed(_ text: String, _ other: String) -> String { known.replacingOccurrences(of: text, with: other) }
    let redirects = "redirects: {follow: 5, "
    for (method, hops, next, status) in [
      // What the app sends is not followed any more, or not by so many.
      ("POST", 0, changed(redirects, redirects + "methods: [GET], "), 307),
      ("GET", 0, changed(redirects, redirects + "methods: [GET], "), 200),
      ("GET", 1, changed(redirects, "redirects: {follow: 1, "), 307),
      ("GET", 0, changed(redirects, "redirects: {follow: 1, "), 200),
      // It does not come to that entry any more.
      ("GET", 0, changed("match: api.test,", "name: api.test, methods: [HEAD], match: api.test,"), 307),
      ("GET", 0, changed("match: api.test,", "name: api.test, match: other.test,"), 307),
      ("GET", 0, changed("match: api.test,", "name: api.test, match: api.test/other,"), 307),
      ("GET", 0, changed("match: api.test,", "name: api.test, match: [other.test, api.test],"), 200),
    ] {
      for place in [cdn, pay] {
        let before = known.replacingOccurrences(of: redirects, with: redirects + "methods: [GET, POST], ")
        try withProxy(before) { proxy throws in
          let sent = try redirected(proxy, method, behind: hops, to: place) {
            try proxy.reload(next)
          }
          #expect(sent.answer.status == status, "\(method) \(hops) \(next) \(sent.answer.head)")
          #expect(try world.origin.exchanges(sent.target).count == (status == 200 ? 1 : 0))
          if status != 200 { #expect(sent.answer.details?.hasSuffix("a reload has changed what serves its target") == true) }
        }
      }
    }
  }

  private static let parent = "parents: {corporate: {url: \"http://127.0.0.1:9\"}}"

  private func certificate(_ file: String) throws -> String {
    let world = try TrustWorld.shared()
    return ", client_certificate: {certificate: \(world.file(file)), key: {file: \(world.file("client.key"))}}"
  }

  @Test func `a host gets no new exchange by another way, under another trust, or for a client that lost the entry`() throws {
    let strict = "trust: {default: [{default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: true}}]}"
    let routes = "routes: [{match: [\(Redirecting.cdn)], via: corporate}]"
    let known = configuration(pay: "")
    let others = known.replacingOccurrences(of: "{name: clear,", with: "{name: clear, clients: [other],")
    for next in [
      configuration(pay: "", strict), configuration(pay: "", Self.parent + "\nvia: corporate"),
      configuration(pay: "", "\(Self.parent)\n\(routes)"), others + "clients: [{name: other, password: pw-5ecret-other}]\n",
    ] {
      try withProxy(configuration(pay: "")) { proxy throws in
        let sent = try redirected(proxy, from: "clear.test", to: cdn) {
          try proxy.reload(next)
        }
        #expect(
          sent.answer.details == "redirect relayed: a reload has changed what serves its target", "\(next) \(sent.answer.head)")
        #expect(try world.origin.exchanges(sent.target).isEmpty)
      }
    }
  }

  @Test func `a new value of the same credential goes to the target, and the old one does not`() throws {
    let file = try TargetCredential.file(Redirecting.payKey)
    let written = configuration(pay: "").replacingOccurrences(of: "value: \(Redirecting.payKey)", with: "value: \(file.value)")
    try withProxy(written) { proxy throws in
      for (value, reloads) in [("pay-5ecret-2", written), ("pay-5ecret-3", written + "# again\n")] {
        let sent = try redirected(proxy, to: pay) {
          try ProxyProcess.write(value + "\n", to: file.path)
          try proxy.reload(reloads)
        }
        #expect(sent.answer.text == "ok\n")
        #expect(try world.only(sent.target).all("X-Pay-Key") == [value])
      }
    }
  }

  @Test func `a reload that changes nothing of a target leaves redirects to it`() throws {
    try withProxy(configuration(pay: "")) { proxy throws in
      let sent = try redirected(proxy, to: pay) {
        try proxy.reload(configuration(pay: ", retry: {attempts: 2}", "name: other"))
      }
      #expect(sent.answer.text == "ok\n")
      #expect(try world.only(sent.target)["X-Pay-Key"] == Redirecting.payKey)
    }
  }

  @Test func `reloads under load change the number of no hop`() throws {
    try withProxy(world.configuration(world.standard(), top: "threads: 2")) { proxy throws in
      let name = Origin.newName()
      // Three hops by turns: each exchange's path says where it is.
      try world.origin.script(name, [.readBody, Redirecting.answer(302, "/status/200?n=1")])
      let stop = Date(timeIntervalSinceNow: 3)
      let clients = try (0..<8).map { _ in try proxy.connect() }
      var answers = 0
      var reloads = 0
      while Date() < stop {
        for client in clients { try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)")) }
        if reloads < 6 {
          reloads += 1
          try proxy.reload(world.configuration(world.standard(), top: "threads: 2\n# \(reloads)\nname: proxy\(reloads)"))
        }
        for client in clients {
          let answer = try client.readAnswer()
          #expect(answer.status == 200 && answer.text == "status 200\n", "\(answer.head)")
          answers += 1
        }
      }
      #expect(answers > 40 && reloads == 6)
    }
  }
}
