import Forwarding
import HTTPWire
import Testing

@Suite struct HeaderRulesTests {
  private func forwarded(
    _ fields: String, _ rules: HeaderRules, credential: String? = nil, decompresses: Bool = false, client: String? = nil
  ) throws -> [String] {
    let text = "GET http://api.test/ HTTP/1.1\nHost: a" + (fields.isEmpty ? "" : "\n" + fields)
    let forwarding = ForwardingTests.rules(credential: credential, decompresses: decompresses, requestHeaders: rules)
    let forwarded = try #require(try Forwarded(head(text), forwarding, client: client))
    #expect(forwarded.count <= forwarded.limit)
    let lines = forwarded.text.split(separator: "\n").map(String.init)
    #expect(lines.prefix(2) == ["GET / HTTP/1.1", "Host: origin.test"] && lines.last == "Via: 1.1 px")
    return Array(lines.dropFirst(2).dropLast())
  }

  private func relayed(
    _ fields: String, _ rules: HeaderRules, status: Int = 200, decompresses: Bool = false, client: String? = nil
  ) throws -> [String] {
    let forwarding = ForwardingTests.rules(decompresses: decompresses, responseHeaders: rules)
    let request = try #require(try Forwarded(head("GET http://api.test/ HTTP/1.1\nHost: a"), forwarding))
    let answer = try #require(
      try Relayed(head("HTTP/1.1 \(status) Fine\n\(fields)"), to: request.outbound, forwarding, client: client))
    #expect(answer.count <= answer.limit)
    return answer.text.split(separator: "\n").dropFirst().map(String.init)
  }

  @Test func `a name meets all its spellings`() throws {
    let rules = HeaderRules(remove: ["X-Debug"], set: [("User-Agent", ["billing/1"])])
    #expect(
      try forwarded("X-Debug: 1\nx_debug: 2\nX_DEBUG: 3\nX-Debugger: 4\nuser_agent: curl\nUSER-AGENT: curl", rules)
        == ["X-Debugger: 4", "User-Agent: billing/1"])
  }

  @Test func `a star stands for the rest of a name, also for nothing`() throws {
    let rules = HeaderRules(remove: ["X-Debug-*"], set: [])
    #expect(
      try forwarded("X-Debug: 1\nX-Debug-: 2\nx_debug_id: 3\nX-Debug-Id-More: 4\nY-X-Debug-Id: 5", rules)
        == ["X-Debug: 1", "Y-X-Debug-Id: 5"])
  }

  @Test func `remove comes before set: what both name is written`() throws {
    let rules = HeaderRules(remove: ["X-*"], set: [("X-App", ["one"])])
    #expect(try forwarded("X-App: forged\nX-Other: 1", rules) == ["X-App: one"])
  }

  @Test func `the client's name fills its placeholders, and nothing does where it is unknown`() throws {
    let rules = HeaderRules(remove: [], set: [("X-App", ["", ""]), ("X-Both", ["a ", " b ", " {c}"]), ("X-Last", ["z"])])
    let name = "a client with a long name"
    #expect(
      try forwarded("", rules, client: name) == ["X-App: \(name)", "X-Both: a \(name) b \(name) {c}", "X-Last: z"])
    #expect(try forwarded("", rules, client: "é") == ["X-App: é", "X-Both: a é b é {c}", "X-Last: z"])
    #expect(try forwarded("X-App: forged", rules) == ["X-App: ", "X-Both: a  b  {c}", "X-Last: z"])
  }

  @Test func `Connection removes nothing that a rule set`() throws {
    let rules = HeaderRules(remove: [], set: [("X-App", ["one"])])
    #expect(try forwarded("Connection: close, x-app, user-agent\nX-App: forged", rules) == ["X-App: one"])
  }

  @Test func `the app's credential is gone before`() throws {
    let rules = HeaderRules(remove: ["X-Debug"], set: [("X-App", ["one"])])
    #expect(try forwarded("Authorization: mine\nX-Debug: 1", rules, credential: "Authorization") == ["X-App: one"])
  }

  @Test func `a rule for Accept-Encoding leaves decompress without a line of its own`() throws {
    let set = HeaderRules(remove: [], set: [("accept-encoding", ["br"])])
    #expect(try forwarded("", set, decompresses: true) == ["accept-encoding: br"])
    let removed = HeaderRules(remove: ["Accept-Encoding"], set: [])
    #expect(try forwarded("Accept-Encoding: br", removed, decompresses: true) == ["Accept-Encoding: gzip"])
  }

  @Test func `answers: remove, set, and what the proxy adds itself`() throws {
    let rules = HeaderRules(remove: ["Server", "X-*"], set: [("X-Served-For", ["", ""]), ("Date", ["then"])])
    #expect(
      try relayed("Server: nginx\nX_Powered_By: php\nDate: today\nContent-Length: 0", rules, client: "billing")
        == ["X-Served-For: billing", "Date: then", "Via: 1.1 px", "Content-Length: 0"])
    // The origin sent no date: the rule's is the only one.
    #expect(try relayed("Content-Length: 0", rules).filter { $0.hasPrefix("Date") } == ["Date: then"])
  }

  @Test func `what a rule writes is not rewritten, and what it takes out is not replaced`() throws {
    let rules = HeaderRules(remove: ["Location"], set: [("Link", ["<https://origin.test/x>"])])
    #expect(
      try relayed(
        "Location: https://origin.test/a\nLink: <https://origin.test/b>\nDate: d\nContent-Length: 0", rules, status: 302)
        == ["Date: d", "Link: <https://origin.test/x>", "Via: 1.1 px", "Content-Length: 0"])
  }

  @Test func `a decoded answer has no other ETag than the rule's`() throws {
    let fields = "Content-Encoding: gzip\nETag: \"a\"\nVary: *\nDate: d\nContent-Length: 3"
    let removed = HeaderRules(remove: ["ETag"], set: [])
    #expect(try relayed(fields, removed, decompresses: true).filter { $0.hasPrefix("ETag") } == [])
    let set = HeaderRules(remove: [], set: [("ETag", ["\"b\""])])
    #expect(try relayed(fields, set, decompresses: true).filter { $0.hasPrefix("ETag") } == ["ETag: \"b\""])
  }

  @Test func `interim answers lose fields, and get none`() throws {
    let rules = HeaderRules(remove: ["Server"], set: [("X-App", ["one"])])
    #expect(try relayed("Server: nginx\nLink: </a>", rules, status: 103) == ["Link: </a>", "Via: 1.1 px"])
  }
}
