import Foundation
import Testing

/// `authproxy schema`, as check-jsonschema and editors use it.
@Suite struct SchemaCommandTests {
  private static let example = Surroundings.root + "/proxy.conf.example"

  /// A folder with the schema that the program prints.
  private func folder() throws -> String {
    let folder = try Surroundings.newFolder()
    let done = try ChildProcess.run(Surroundings.program, ["schema"])
    #expect(done.status == .exited(0) && done.errors.isEmpty, "\(done.errors)")
    try ProxyProcess.write(done.output, to: folder + "/proxy.schema.json")
    return folder
  }

  private func check(_ arguments: [String], in folder: String) throws -> ChildProcess.Finished {
    let own = Surroundings.root + "/.build-venv/bin/check-jsonschema"
    let tool = FileManager.default.isExecutableFile(atPath: own) ? own : "check-jsonschema"
    return try ChildProcess.run(tool, arguments, folder: folder, seconds: 120)
  }

  @Test func `it is a JSON Schema of draft 2020-12`() throws {
    let folder = try folder()
    let done = try check(["--check-metaschema", "proxy.schema.json"], in: folder)
    #expect(done.status == .exited(0), "\(done.output)\(done.errors)")
    let text = try String(contentsOfFile: folder + "/proxy.schema.json", encoding: .utf8)
    #expect(text.contains("\"$schema\": \"https://json-schema.org/draft/2020-12/schema\""))
    let version = try ChildProcess.run(Surroundings.program, ["--version"]).output.trimmingCharacters(
      in: .whitespacesAndNewlines)
    #expect(text.contains("authproxy \(version)."))
  }

  @Test func `it accepts proxy.conf.example, as it is and with every line switched on`() throws {
    let folder = try folder()
    let text = try String(contentsOfFile: Self.example, encoding: .utf8)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let whole = lines.map { $0.hasPrefix("#") && !$0.hasPrefix("##") ? String($0.dropFirst()) : String($0) }
    try ProxyProcess.write(text, to: folder + "/example.yaml")
    try ProxyProcess.write(whole.joined(separator: "\n"), to: folder + "/whole.yaml")
    let done = try check(["--schemafile", "proxy.schema.json", "example.yaml", "whole.yaml"], in: folder)
    #expect(done.status == .exited(0), "\(done.output)\(done.errors)")
  }

  @Test func `it refuses a mistake of shape, and names the key`() throws {
    let folder = try folder()
    for (text, words) in [
      ("upstreams: [{match: h, trsut: strict}]", ["upstreams[0]", "trsut"]), ("limits: {request_head: 32}", ["request_head"]),
      ("timeouts: {idle: 75}", ["timeouts.idle"]), ("unlisted_hosts: maybe", ["unlisted_hosts", "deny"]),
      ("upstreams: {match: h}", ["upstreams", "array"]), ("credentials: {a: {bearer: {}}}", ["credentials.a.bearer", "token"]),
    ] {
      try ProxyProcess.write("listen: 127.0.0.1:3128\n\(text)\n", to: folder + "/proxy.yaml")
      let done = try check(["--schemafile", "proxy.schema.json", "proxy.yaml"], in: folder)
      #expect(done.status == .exited(1), "\(text): \(done.output)\(done.errors)")
      for word in words { #expect(done.output.contains(word), "\(text): \(done.output)") }
    }
  }

  @Test func `the example says how an editor finds the schema`() throws {
    let text = try String(contentsOfFile: Self.example, encoding: .utf8)
    #expect(text.contains("authproxy schema >") && text.contains("# yaml-language-server: $schema="))
  }
}
