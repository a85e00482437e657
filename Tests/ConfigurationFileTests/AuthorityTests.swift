import Interception
import Settings
import TLS
import Testing

@testable import ConfigurationFile

@Suite("CAs of intercept")
struct AuthorityTests {
  private func load(_ text: String, makesAuthorities: Bool = false, at now: Int64 = 1_800_000_000) -> LoadedConfiguration {
    let reading = Reading(
      report: Report(file: "proxy.conf"), folder: World.folder, environment: World.environment, system: World.system,
      readableByOthers: false, now: now, makesAuthorities: makesAuthorities)
    return ConfigurationFile.read(Array("listen: 127.0.0.1:3128\n\(text)\n".utf8), reading).loaded
  }

  private func chain(_ name: String) throws -> [Certificate] {
    try Certificate.parse(pem: Array((World.files[name] ?? "").utf8))
  }

  @Test("a folder is a list of its files, without those that have expired; the next one is watched")
  func folder() throws {
    let loaded = load("intercept: {ca: {generate: folder/}}\nupstreams: [{match: \"https://one.example\"}]")
    let intercept = try #require(loaded.settings?.intercept)
    #expect(intercept.source == .generated(folder: "/etc/authproxy/folder"))
    #expect(try intercept.authorities.list.map(\.chain) == [chain("folder/issuer.pem"), chain("folder/issuer-3.pem")])
    let names = loaded.watched.map { $0.path.replacing("/etc/authproxy/folder/", with: "") }
    #expect(names == ["issuer.pem", "issuer.key", "issuer-2.pem", "issuer-3.pem", "issuer-3.key", "issuer-4.pem"])
  }

  @Test("those that are about to be made are not looked for, what else is wrong is told")
  func beforeTheyAreMade() throws {
    let text = """
      intercept:
        ca: {certificate: nothing.pem, key: {file: nothing.key}, passphrase: {env: NOT_SET}}
      upstreams: [{match: ["https://*.one.example", "https://one.example"], origin: https://one.example}]
      """
    #expect(load(text).settings == nil)
    let settings = try #require(load(text, makesAuthorities: true).settings)
    #expect(settings.signedNames.map(\.text) == ["*.one.example", "one.example"])
    #expect(load(text + "\nconnect: {allow: [1:2:3]}", makesAuthorities: true).errors.count == 1)
  }

  @Test("the end of a CA is told 30 days before it comes, of each certificate")
  func dates() throws {
    let text = """
      intercept: {ca: {certificate: one/issuer.pem, key: {file: one/issuer.key}}}
      upstreams: [{match: "https://one.example"}]
      """
    let chain = try chain("one/issuer.pem")
    let end = chain[0].notAfter
    #expect(load(text, at: end - 30 * 86_400).lines == [])
    #expect(
      load(text, at: end - 7 * 86_400).lines
        == chain.map {
          "2:31: warning: intercept.ca.certificate: /etc/authproxy/one/issuer.pem, '\($0.subject)', expires in 7 days, on "
            + UTCDate.text(end)
        })
    #expect(
      load(text, at: end).errorLines == [
        "2:31: error: intercept.ca.certificate: /etc/authproxy/one/issuer.pem: \(chain[0].subject) expired on "
          + UTCDate.text(end)
      ])
  }

  @Test("nothing of a key is shown, whatever is wrong")
  func secrets() throws {
    let key = try #require(World.files["one/issuer.key"]?.split(separator: "\n").dropFirst().first)
    for mistake in Mistake.ofInterception {
      let loaded = World.read(mistake.withListener)
      #expect(!"\(loaded)".contains(key) && !String(reflecting: loaded).contains(key))
    }
    let whole = try #require(World.read(wholeLanguage).settings)
    #expect(!String(reflecting: whole).contains("PRIVATE KEY"))
  }

  @Test("the system's roots are read where they are published")
  func systemRoots() {
    let text = """
      intercept: {ca: {generate: folder}, publish: /run/ca}
      upstreams: [{match: "https://one.example", trust: own}]
      trust: {own: [{default: {ca_file: cert.pem}}], default: [{default: {ca_file: cert.pem}}]}
      """
    #expect(!load(text).systemRootsFiles.isEmpty)
    #expect(load(text.replacing(", publish: /run/ca", with: "")).systemRootsFiles.isEmpty)
  }
}
