import Foundation
import Testing

/// Redirects while the configuration changes: a request keeps what it began with.
@Suite struct RedirectReloadTests {
  private let world: Redirecting
  init() throws { world = try Redirecting() }

  @Test func `a request follows as it began, the next one as the file says now`() throws {
    try withProxy(world.configuration(world.standard())) { proxy throws in
      let (name, target) = (Origin.newName(), Origin.newName())
      try world.origin.script(
        name, [.readBody, .gate("on"), Redirecting.answer(302, "https://\(Redirecting.cdn):\(world.port)/?id=\(target)")])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try world.origin.await(name, gate: "on")
      try proxy.reload(world.configuration("relay"))
      try world.origin.open("on", of: name, count: 2)
      #expect(try client.readAnswer().text == "ok\n")
      #expect(try world.only(target).tls?.sni == Redirecting.cdn)
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      #expect(try client.readAnswer().status == 302)
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
      configuration(
        pay: ", trust: strict", "trust: {strict: [{default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: true}}]}"
      ),
      configuration(pay: ", clients: [other]", "clients: [{name: other, password: pw-5ecret-other}]"),
      configuration(pay: "").replacingOccurrences(of: "credential: pay, ", with: ""),
      configuration(pay: "").replacingOccurrences(of: "/base", with: "/other"),
    ]
    for next in changed {
      try withProxy(configuration(pay: "")) { proxy throws in
        let (name, target) = (Origin.newName(), Origin.newName())
        let location = "https://\(Redirecting.pay):\(world.port)/base?id=\(target)"
        try world.origin.script(name, [.readBody, .gate("on"), Redirecting.answer(302, location)])
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
        try world.origin.await(name, gate: "on")
        try proxy.reload(next)
        try world.origin.open("on", of: name)
        let answer = try client.readAnswer()
        #expect(answer.status == 302 && answer["Location"] == location, "\(next) \(answer.head)")
        #expect(answer.details == "redirect relayed: a reload has changed what serves its target", "\(answer.head)")
        #expect(try world.origin.exchanges(target).isEmpty)
      }
    }
  }

  @Test func `a reload that changes nothing of a target leaves redirects to it`() throws {
    try withProxy(configuration(pay: "")) { proxy throws in
      let (name, target) = (Origin.newName(), Origin.newName())
      let location = "https://\(Redirecting.pay):\(world.port)/base?id=\(target)"
      try world.origin.script(name, [.readBody, .gate("on"), Redirecting.answer(302, location)])
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://api.test/?id=\(name)"))
      try world.origin.await(name, gate: "on")
      try proxy.reload(configuration(pay: ", retry: {attempts: 2}", "name: other"))
      try world.origin.open("on", of: name)
      #expect(try client.readAnswer().text == "ok\n")
      #expect(try world.only(target)["X-Pay-Key"] == Redirecting.payKey)
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
