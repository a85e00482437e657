import Testing

/// What an operator says to drop stored answers, and what the proxy does not take for such a wish.
@Suite struct PurgeCommandTests {
  private static func settings(_ admin: String) throws -> String {
    "admin: \(admin)\n" + (try Configuration.https("cache: {}"))
  }

  @Test func `a purge is a POST of JSON, and nothing that a web page sends`() throws {
    let open = "{address: 127.0.0.1:0, expose: [healthz, purge]}"
    try withProxy(try Self.settings(open)) { proxy throws in
      func post(_ body: String, _ fields: [(name: String, value: String)]) throws -> Answer {
        try proxy.admin("cache/purge", method: "POST", fields: fields, body: body)
      }
      let json = ("Content-Type", "application/json")
      let answer = try post("{}", [json])
      #expect(answer.status == 200)
      #expect(answer.text == "{\"purged\":0}\n")
      #expect(answer["Content-Type"] == "application/json")
      #expect(try post("{}", [("Content-Type", "Application/JSON; charset=utf-8")]).status == 200)
      for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""] {
        #expect(try post("{}", [("Content-Type", type)]).status == 415, "\(type)")
      }
      #expect(try post("{}", []).status == 415)
      #expect(try post("{}", [json, ("Origin", "http://127.0.0.1:\(proxy.adminPort)")]).status == 403)
      for (body, text) in [("", "byte 0"), ("{\"urll\": \"x\"}", "\"urll\""), ("{\"url\": 1}", "\"url\"")] {
        let answer = try post(body, [json])
        #expect(answer.status == 400)
        #expect(answer.text.contains(text), "\(answer.text)")
      }
      for method in ["GET", "HEAD", "PUT", "PURGE"] {
        let answer = try proxy.admin("cache/purge", method: method)
        #expect(answer.status == 405)
        #expect(answer["Allow"] == "POST")
      }
      #expect(try proxy.admin("purge").status == 404)
    }
  }

  @Test func `it is there by default on a unix socket only`() throws {
    try withProxy(try Self.settings("127.0.0.1:0")) { proxy throws in
      #expect(try proxy.admin("cache/purge", method: "POST").status == 405)
      #expect(try proxy.admin("cache/purge").status == 404)
    }
    let folder = try Surroundings.newFolder()
    try withProxy(try Self.settings("unix:\(folder)/admin.sock")) { proxy throws in
      func purge(_ arguments: [String]) throws -> ChildProcess.Finished {
        try ChildProcess.run(Surroundings.program, ["purge", "--config", proxy.configurationPath] + arguments)
      }
      let all = try purge([])
      #expect(all.status == .exited(0))
      #expect(all.output == "purged 0\n")
      #expect(try purge(["--upstream", "api.test", "http://api.test/v1/*"]).output == "purged 0\n")
      for (arguments, text) in [
        (["--upstream", "api.tets"], "there is no upstream named 'api.tets' (did you mean 'api.test'?)"),
        (["--client", "nobody"], "there is no client named 'nobody'"), (["http://elsewhere.test/"], "no upstream with 'cache'"),
        (["/v1"], "the URL is not one that an app can ask for"),
      ] {
        let failed = try purge(arguments)
        #expect(failed.status == .exited(1))
        #expect(failed.errors.contains(text), "\(failed.errors)")
      }
    }
  }
}
