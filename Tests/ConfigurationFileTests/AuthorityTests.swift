import Files
import Interception
import Settings
import TLS
import Testing

@testable import ConfigurationFile

@Suite("CAs of intercept")
struct AuthorityTests {
  private func load(
    _ text: String, makesAuthorities: Bool = false, isDebuggable: Bool = false, at now: Int64 = 1_800_000_000,
    environment: [String: String] = [:], system: SystemAccess = World.system
  ) -> LoadedConfiguration {
    let reading = Reading(
      report: Report(file: "proxy.conf"), folder: World.folder,
      environment: World.environment.merging(environment) { $1 }, system: system,
      readableByOthers: false, now: now, makesAuthorities: makesAuthorities, isDebuggable: isDebuggable)
    let bytes = Array("listen: 127.0.0.1:3128\n\(text)\n".utf8)
    return ConfigurationFile.read(bytes, reading).loaded.judged(bytes)
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

  /// The folder `gaps`: what is in it has the content of the same file in `one` or `folder`.
  private func load(
    _ files: [String: String], isWritableByOthers: Bool = false, foreign: String? = nil, more: String = ""
  ) -> LoadedConfiguration {
    let (found, folder) = (
      FolderContent(names: Set(files.keys), isWritableByOthers: isWritableByOthers), World.folder + "/gaps/"
    )
    @Sendable func read(_ path: String, _ limit: Int) throws(FileError) -> FileContent {
      guard path.hasPrefix(folder) else { return try World.system.readFile(path, limit) }
      guard let name = files[String(path.dropFirst(folder.count))] else { throw FileError(errno: 2) }
      return try World.system.readFile("\(World.folder)/\(name)", limit)
    }
    let system = SystemAccess(
      readFile: read, readFolder: { (_: String) throws(FileError) in found },
      readInFolder: { (path: String, name: String, limit: Int) throws(FileError) in
        var content = try read("\(path)/\(name)", limit)
        content.isForeign = name == foreign
        return content
      }, run: World.system.run)
    return load(Self.gaps + more, system: system)
  }

  private static let gaps = "intercept: {ca: {generate: gaps}}\nupstreams: [{match: \"https://one.example\"}]"

  @Test("a gap in the numbers hides no CA, and the number behind all is watched")
  func gaps() throws {
    let loaded = load(["issuer-4.pem": "one/issuer.pem", "issuer-4.key": "one/issuer.key", "ca-4.pem": "one/issuer.pem"])
    #expect(loaded.lines == [])
    #expect(try loaded.settings?.intercept?.authorities.list.map(\.chain) == [chain("one/issuer.pem")])
    #expect(loaded.watched.last?.path == "/etc/authproxy/gaps/issuer-5.pem")
  }

  @Test("a CA without its certificates is left out, with a warning; the next one is read")
  func unfinished() throws {
    let whole = ["issuer-2.pem": "one/issuer.pem", "issuer-2.key": "one/issuer.key"]
    for (more, rest) in [
      (["issuer.key"], "issuer.key"), (["ca.pem"], "ca.pem"), (["ca.pem", "issuer.key"], "issuer.key and ca.pem"),
    ] {
      let loaded = load(whole.merging(more.map { ($0, "one/issuer.key") }) { $1 })
      #expect(
        loaded.lines == [
          "2:28: warning: intercept.ca.generate: /etc/authproxy/gaps/issuer.pem is missing, so its CA signs nothing: put it back, "
            + "or remove \(rest)"
        ])
      #expect(try loaded.settings?.intercept?.authorities.list.map(\.chain) == [chain("one/issuer.pem")])
      #expect(loaded.watched.contains { $0.path.hasSuffix("/gaps/issuer.pem") })
    }
  }

  @Test("a CA without its key is an error")
  func withoutKey() {
    #expect(
      load(["issuer.pem": "one/issuer.pem"]).errorLines == [
        "2:28: error: intercept.ca.generate: /etc/authproxy/gaps/issuer.key, the key of issuer.pem, cannot be read"
      ])
  }

  @Test("where others may put files into the folder is told, and a CA of theirs is an error")
  func foreign() {
    let files = ["issuer.pem": "one/issuer.pem", "issuer.key": "one/issuer.key"]
    let warning =
      "2:28: warning: intercept.ca.generate: others may write /etc/authproxy/gaps, and so put a CA there for hosts of their choice"
    #expect(load(files, isWritableByOthers: true).lines == [warning])
    // Also where another key of the configuration has read the file by its path.
    for (name, more) in files.keys.flatMap({ name in
      [(name, ""), (name, "\ntrust: {own: [{default: {ca_file: gaps/issuer.pem}}]}")]
    }) {
      let loaded = load(files, isWritableByOthers: true, foreign: name, more: more)
      #expect(
        loaded.errorLines == [
          "2:28: error: intercept.ca.generate: /etc/authproxy/gaps/\(name) belongs to another user, and others may write the folder: "
            + "nobody knows who made this CA"
        ])
    }
  }

  @Test("a process whose memory others may read has no CA, and reads no key of one")
  func debuggable() {
    for (text, key) in [
      ("intercept: {ca: {certificate: one/issuer.pem, key: {file: one/issuer.key}}}", "one/issuer.key"),
      ("intercept: {ca: {generate: folder}}", "folder/issuer.key"), ("intercept: {ca: memory, publish: /run/ca}", "-"),
    ] {
      let loaded = load(text + "\nupstreams: [{match: \"https://one.example\"}]", isDebuggable: true)
      #expect(
        loaded.errorLines == [
          "2:1: error: intercept and --allow-debugging exclude each other: whoever reads the memory of the process could sign as "
            + "its CA"
        ])
      #expect(!loaded.watched.contains { $0.path.hasSuffix(key) })
    }
  }

  @Test("where the system has no roots, apps get ours alone, and that is told; roots that are named must be there")
  func noSystemRoots() {
    let text = "intercept: {ca: {generate: folder}, publish: /run/ca}\nupstreams: [{match: \"https://one.example\"}]"
    let bare = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        if path == World.roots { throw FileError(errno: 2) }
        return try World.system.readFile(path, limit)
      }, readFolder: World.system.readFolder, run: World.system.run)
    func lines(_ environment: [String: String], _ system: SystemAccess) -> [String] {
      load(text, environment: environment, system: system).lines.filter { !$0.contains("issuer-2.pem expired") }
    }
    #expect(lines([:], World.system) == [])
    #expect(
      lines([:], bare) == [
        "2:46: warning: intercept.publish: there are no system roots on this machine, so bundle.pem and truststore.jks hold our own "
          + "alone: apps can verify nobody else with them (the package ca-certificates provides roots, SSL_CERT_FILE names others)"
      ])
    #expect(
      lines(["SSL_CERT_FILE": "/nothing.pem"], World.system) == [
        "2:46: error: intercept.publish: bundle.pem needs the system's roots, and /nothing.pem, which SSL_CERT_FILE names, cannot "
          + "be read or is empty"
      ])
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
