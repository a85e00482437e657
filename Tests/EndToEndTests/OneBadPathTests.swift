import Foundation
import Testing

/// A 401 is evidence, not proof: neither one bad path nor one bad client makes the credential unusable for others.
@Suite struct OneBadPathTests {
  @Test func `a path that refuses a fresh token is not refreshed for again`() throws {
    let server = try TokenServer(#"{"refused": ["bad"]}"#)
    try withProxy(try server.configuration(top: "threads: 2")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      var details: [String?] = []
      for _ in 0..<20 {
        let answer = try proxy.ask(server.url("bad"))
        #expect(answer.status == 401)
        details.append(answer.proxyDetails)
        #expect(try proxy.ask(server.url()).status == 200)
      }
      #expect(details[0] == "refused again with a fresh credential")
      #expect(details[1] == "not retried, this request refused a fresh credential before")
      let state = try server.state()
      #expect(state.requests.count <= 3)
      #expect(state.uses.filter { $0.path == "x" }.allSatisfy { $0.status == 200 })
    }
  }

  @Test func `once it is accepted, it is as any other`() throws {
    let server = try TokenServer(#"{"refused": ["bad"]}"#)
    try withProxy(try server.configuration(top: "threads: 2")) { proxy in
      #expect(try proxy.ask(server.url("bad")).proxyDetails == "refused again with a fresh credential")
      try server.set(#"{"refused": []}"#)
      // Loops learn it by message.
      usleep(50_000)
      for _ in 0..<4 { #expect(try proxy.ask(server.url("bad")).status == 200) }
      usleep(50_000)
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url("bad")).status == 200, "the revoked token is replaced at once")
    }
  }

  @Test func `refresh_window caps what refusals cause, and the token stays with the others`() throws {
    let server = try TokenServer()
    let paths = (0..<30).map { "\"bad\($0)\"" }.joined(separator: ",")
    try server.set("{\"refused\": [\(paths)]}")
    try withProxy(try server.configuration("refresh_window: {interval: 60s, attempts: 3}")) { proxy in
      #expect(try proxy.ask(server.url()).status == 200)
      var notes: [String: Int] = [:]
      for index in 0..<30 {
        let answer = try proxy.ask(server.url("bad\(index)"))
        #expect(answer.status == 401)
        notes[answer.proxyDetails ?? "none", default: 0] += 1
        #expect(try proxy.ask(server.url()).status == 200)
      }
      #expect(try server.state().requests.count <= 4)
      #expect(notes["not retried, refresh_window is used up", default: 0] >= 27)
    }
  }

  @Test func `a bad client leaves the others their refresh`() throws {
    let server = try TokenServer()
    let paths = (0..<30).map { "\"bad\($0)\"" }.joined(separator: ",")
    try server.set("{\"refused\": [\(paths)]}")
    let clients = """
      clients:
        - {name: bad, password: pw-5ecret-bad}
        - {name: good, password: pw-5ecret-good}
      """
    func field(_ name: String) -> [String] {
      ["Proxy-Authorization: Basic " + Data("\(name):pw-5ecret-\(name)".utf8).base64EncodedString()]
    }
    try withProxy(try server.configuration("refresh_window: {interval: 60s, attempts: 3}", top: clients)) { proxy in
      #expect(try proxy.ask(server.url(), field("good")).status == 200)
      for index in 0..<30 { #expect(try proxy.ask(server.url("bad\(index)"), field("bad")).status == 401) }
      try server.set(#"{"revoke": true}"#)
      #expect(try proxy.ask(server.url(), field("good")).status == 200)
    }
  }
}
