import JSON
import Testing

@testable import ConfigurationFile

@Suite struct SchemaTests {
  private let schema = LanguageSchema.make(version: "1.2.3")

  /// The definition of a section; nil: the whole file.
  private func section(_ name: String?) throws -> JSONValue {
    guard let name else { return schema }
    return try #require(schema["$defs"]?[name], "no definition '\(name)'")
  }

  private func key(_ section: String?, _ name: String) throws -> JSONValue {
    try #require(try self.section(section)["properties"]?[name], "\(section ?? "the file") has no '\(name)'")
  }

  private func json(_ text: String) throws -> JSONValue { try JSONParser.parse(Array(text.utf8)) }

  @Test func `it says which draft it is, and which version printed it`() {
    #expect(schema["$schema"]?.string == "https://json-schema.org/draft/2020-12/schema")
    #expect(schema["$comment"]?.string?.contains("1.2.3") == true)
    #expect(schema["title"]?.string == "proxy.conf")
  }

  @Test func `every key of the language is there, with sentence, type and default, and no other key`() throws {
    var described: Set<String> = []
    func collect(_ section: JSONValue) {
      guard case .object(let properties)? = section["properties"] else { return }
      for property in properties {
        described.insert("\(section["title"]?.string ?? "?") \(property.name) \(property.value["description"]?.string ?? "?")")
      }
    }
    collect(schema)
    guard case .object(let definitions)? = schema["$defs"] else { return #expect(Bool(false), "no definitions") }
    for definition in definitions { collect(definition.value) }
    // A section that several keys have is described where it is first.
    let known = Set(RootKeys.everyKey().map { "\($0.key.name) \($0.key.explanation)" })
    #expect(Set(described.map { $0.split(separator: " ", maxSplits: 1).last.map(String.init) ?? "" }) == known)
    #expect(described.count > 300)
  }

  @Test func `a section takes its keys alone, and says which it needs`() throws {
    for name in [nil, "listen", "credentials", "credentials.oauth2", "trust", "upstreams.retry", "secret.source"] {
      #expect(try section(name)["additionalProperties"] == false, "\(name ?? "the file")")
    }
    #expect(try section(nil)["required"] == ["listen"])
    #expect(try section("listen.tls.client_certificates")["required"] == ["ca_file"])
  }

  @Test func `keys that exclude one another are alternatives with names`() throws {
    #expect(
      try section("secret.source")["oneOf"]
        == json(
          #"""
          [{"title":"file","required":["file"]},{"title":"env","required":["env"]},{"title":"command","required":["command"]}]
          """#))
    guard case .array(let kinds)? = try section("credentials")["oneOf"] else { return #expect(Bool(false)) }
    #expect(kinds.compactMap { $0["title"]?.string } == CredentialKeys.alternativeNames)
  }

  @Test func `scalars have the forms that the reader takes`() throws {
    let cases: [(section: String?, key: String, schema: String)] = [
      (
        nil, "threads",
        #"""
        {"description":"Sets the number of event loops. Type: auto, or integer from 1 to 256. Default: auto.","default":"auto",
         "anyOf":[{"title":"auto","enum":["auto"]},
          {"title":"integer from 1 to 256","type":["integer","string"],"pattern":"^[0-9]+$","minimum":1,"maximum":256}]}
        """#
      ),
      (
        "limits", "replay_body",
        #"""
        {"description":"Bounds the request body that the proxy keeps for a retry. Type: size from 0B to 1GiB (B, KiB, MiB, GiB, kB, KB, MB or GB). Default: 64KiB.",
         "default":"64KiB","type":"string","pattern":"^[0-9]+(B|KiB|MiB|GiB|kB|KB|MB|GB)$"}
        """#
      ),
      (
        "log", "access",
        #"""
        {"description":"Logs one line for each request. Type: true or false. Default: true.","default":true,
         "type":["boolean","string"],"pattern":"^(true|false)$"}
        """#
      ),
      (
        "upstreams", "http_version",
        #"""
        {"description":"Says which versions of HTTP the proxy offers the origin; with 2 an origin without HTTP/2 is an error. Type: 1.1, auto or 2. Default: 1.1.",
         "default":"1.1","enum":["1.1",1.1,"auto","2",2]}
        """#
      ),
      (
        "upstreams.retry", "statuses",
        #"""
        {"description":"Lists the statuses after which the proxy repeats a request. Type: list of: integer from 400 to 599. Default: [408, 500, 502, 503, 504].",
         "default":[408,500,502,503,504],"type":"array",
         "items":{"type":["integer","string"],"pattern":"^[0-9]+$","minimum":400,"maximum":599}}
        """#
      ),
    ]
    for (section, name, expected) in cases { #expect(try key(section, name) == json(expected), "\(name)") }
  }

  @Test func `a short form, a section and a list of them are forms of one value`() throws {
    guard case .array(let forms)? = try key(nil, "listen")["anyOf"] else { return #expect(Bool(false)) }
    #expect(
      forms.map { $0["title"]?.string ?? $0["$ref"]?.string } == [
        "address:port, unix:path or fd:number", "#/$defs/listen",
        "list of: address:port, unix:path or fd:number, or section",
      ])
    #expect(try key("credentials.bearer", "token")["$ref"] == "#/$defs/secret")
    // `- disabled:` without a value.
    guard case .array(let disabled)? = try key("trust", "disabled")["anyOf"] else { return #expect(Bool(false)) }
    #expect(disabled.last == ["title": "nothing", "type": "null"])
    // An evaluator contains evaluators, and one definition is enough.
    #expect(try key("trust", "composite")["items"] == ["$ref": "#/$defs/trust"])
  }

  @Test func `a word that YAML takes for a boolean is accepted as one`() throws {
    guard case .array(let forms)? = try key(nil, "watch_files")["anyOf"] else { return #expect(Bool(false)) }
    #expect(forms.first?["enum"] == ["off", false])
  }

  @Test(arguments: [
    "{listen: \"127.0.0.1:1\", name: no, upstreams: [{match: null}]}",
    "{listen: [{address: \"unix:/a\", mode: 0660, owner: 0, group: \"12\"}]}",
    "{listen: \"fd:3\", watch_files: off, threads: \"4\", clients: [{name: 12, from: [1:2:3:4:5:6:7:8]}]}",
    "{listen: \"127.0.0.1:1\", trust: {lab: [{disabled: }], a: [{pinned_public_keys: {expires: 2027-06-01}}]}}",
    "{listen: \"127.0.0.1:1\", upstreams: [{match: h, http_version: 1.1, cache: off, decompress: \"true\", origin: HTTPS://h}]}",
  ])
  func `what YAML converts and the language does not is accepted in both forms`(_ text: String) throws {
    let node = try #require(Node.whole(Array(text.utf8)))
    for version in YAMLVersion.allCases {
      #expect(SchemaJudge.language.problems(in: node.delivered(version)) == [], "YAML \(version)")
    }
  }

  @Test(arguments: [
    ("{listen: 3128}", ": no form fits"), ("{listen: \"a:1\", lissten: 1}", "unknown lissten"), ("{}", "needs listen"),
    ("{listen: \"a:1\", limits: {connections: 0}}", "minimum"), ("{listen: \"a:1\", limits: {request_head: 32}}", "type"),
    ("{listen: \"a:1\", timeouts: {idle: 75}}", "type"), ("{listen: \"a:1\", timeouts: {idle: 75S}}", "pattern"),
    ("{listen: \"a:1\", unlisted_hosts: maybe}", "enum"), ("{listen: \"a:1\", log: }", "type"),
    ("{listen: \"a:1\", upstreams: {match: h}}", "type"), ("{listen: \"a:1\", log: {access: 1}}", "type"),
    ("{listen: \"a:1\", credentials: {a: {bearer: {token: {}}}}}", "no form fits"),
    ("{listen: \"a:1\", credentials: {a: {bearer: {token: {file: a, env: B}}}}}", "no form fits"),
    ("{listen: \"a:1\", credentials: {a: {bearer: {token: a}, basic: {username: u, password: p}}}}", "2 of the alternatives"),
    ("{listen: \"a:1\", credentials: {a: {allow_plaintext: true}}}", "0 of the alternatives"),
    ("{listen: \"a:1\", credentials: {\"\": {bearer: {token: a}}}}", "minLength"),
  ])
  func `a mistake of shape is refused`(_ text: String, _ reason: String) throws {
    let node = try #require(Node.whole(Array(text.utf8)))
    let problems = SchemaJudge.language.problems(in: node.delivered(.core))
    #expect(problems.contains { $0.contains(reason) }, "\(problems)")
  }
}
