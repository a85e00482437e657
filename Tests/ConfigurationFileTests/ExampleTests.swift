import Files
import Foundation
import Settings
import Testing

@testable import ConfigurationFile

extension World {
  /// A new reading.
  static func reading() -> Reading {
    Reading(
      report: Report(file: "proxy.conf"), folder: folder, environment: environment, system: system,
      readableByOthers: false, now: 0)
  }

  /// The keys that the reader asks for while it reads this text.
  static func knownKeys(of text: String) -> Set<String> {
    ConfigurationFile.read(Array(text.utf8), reading()).askedKeys
  }
}

/// The file `proxy.conf.example`.
enum Example {
  static func text() throws -> String { try file("proxy.conf.example") }

  /// - Parameter path: from the repository's root.
  static func file(_ path: String) throws -> String {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
  }

  /// What stands as an alternative, four spaces behind `##`: whole files but for their listener.
  static func alternatives() throws -> [String] {
    var blocks: [String] = [""]
    for line in try text().split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("##    ") {
        blocks[blocks.count - 1] += line.dropFirst(6) + "\n"
      } else if blocks.last != "" {
        blocks.append("")
      }
    }
    return blocks.filter { $0.hasPrefix("token_store:") }
  }

  /// `#key: value` becomes `key: value`. Comments begin with `##` and stay.
  static func uncommented() throws -> String {
    try text().split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix("#") && !line.hasPrefix("##") ? String(line.dropFirst()) : String(line)
    }.joined(separator: "\n")
  }
}

@Suite("proxy.conf.example")
struct ExampleTests {
  private let text: String
  private let uncommented: String

  init() throws {
    text = try Example.text()
    uncommented = try Example.uncommented()
  }

  /// Every file that the example names exists, with the content that its name suggests.
  private static let system = SystemAccess(
    readFile: { (path: String, _: Int) throws(FileError) in
      let content =
        switch path.split(separator: ".").last.map(String.init) {
        case _ where path.contains("/ca/"): World.files["ca/" + (path.split(separator: "/").last ?? "")] ?? ""
        case _ where path.contains("github"): PEMSamples.rsaKey
        case _ where path.contains("previous"): World.files["other32"] ?? ""
        case "pem": path.contains("next") ? PEMSamples.next : PEMSamples.certificate
        case "key": PEMSamples.encryptedKey
        case "crl": PEMSamples.list
        case "base64": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        default: "s3cr3t\n"
        }
      let identity = FileIdentity(device: 1, inode: 1, size: Int64(content.utf8.count), modified: 0)
      return FileContent(bytes: Array(content.utf8), identity: identity, permissions: 0o600)
    }, run: World.system.run)

  private func load(_ text: String) -> LoadedConfiguration {
    ConfigurationFile.read(
      text: Array(text.utf8), name: "proxy.conf", folder: "/etc/authproxy",
      environment: [
        "API_TOKEN": "s3cr3t", "LEGACY_PASSWORD": "s3cr3t", "KEY_PASSPHRASE": "s3cr3t", "SERVICE_PASSWORD": "s3cr3t",
        "CA_PASSPHRASE": "s3cr3t",
      ],
      system: Self.system
    ).judged(Array(text.utf8))
  }

  @Test("works as it is, without a warning")
  func asShipped() {
    let loaded = load(text)
    #expect(loaded.lines == [])
    #expect(loaded.settings?.upstreams.count == 1)
  }

  @Test("works with everything uncommented, too; what it warns of, it says")
  func uncommentedWorks() {
    let loaded = load(uncommented)
    #expect(loaded.errorLines == [])
    #expect(loaded.warnings.count <= 6, "\(loaded.lines)")
  }

  @Test("the stores of a fleet work, too, without a warning")
  func fleets() throws {
    let blocks = try Example.alternatives()
    #expect(blocks.count == 3)
    for block in blocks {
      let loaded = load(
        "listen: 127.0.0.1:3128\nupstreams: [{match: h, credential: example-api}]\ntrust: {strict: [{default: {}}]}\n\(block)"
          + (block.contains("credentials:")
            ? "" : "credentials:\n  example-api: {bearer: {token: {file: token}}}\n"))
      #expect(loaded.errorLines == [], "\(block)")
      #expect(loaded.lines.allSatisfy { $0.hasSuffix("trust.strict is not used") }, "\(loaded.lines)")
      #expect(loaded.settings?.tokenStore.shared != nil, "\(block)")
    }
  }

  @Test("the settings for known servers in docs/login.md work, too, without a warning")
  func knownServers() throws {
    let blocks = try Example.file("docs/login.md").components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    let store = try #require(blocks.first { $0.hasPrefix("token_store:") })
    let credentials = blocks.filter { $0.hasPrefix("oauth2:") }
    #expect(credentials.count == 7)
    for credential in credentials {
      let indented = credential.split(separator: "\n").map { "    \($0)\n" }.joined()
      let loaded = load(
        "listen: 127.0.0.1:3128\nupstreams: [{match: h, credential: a}]\n\(store)credentials:\n  a:\n\(indented)")
      #expect(loaded.lines == [], "\(credential)")
      #expect(loaded.settings?.credentials.count == 1, "\(credential)")
    }
  }

  @Test("the settings with static keys in docs/aws.md work, too, without a warning")
  func aws() throws {
    let blocks = try Example.file("docs/aws.md").components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }.filter { $0.contains("access_key_id") }
    #expect(blocks.count == 2)
    for block in blocks {
      let loaded = load(block.hasPrefix("listen:") ? block : "listen: 127.0.0.1:3128\n" + block)
      #expect(loaded.lines == [], "\(block)")
      #expect(loaded.settings?.credentials.count == 1, "\(block)")
    }
  }

  @Test("the settings in docs/token-exchange.md work, too, without a warning")
  func exchanges() throws {
    let blocks = try Example.file("docs/token-exchange.md").components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(blocks.count == 4)
    for block in blocks {
      let indented = block.split(separator: "\n").map { "    \($0)\n" }.joined()
      let loaded = load(
        """
        listen: 127.0.0.1:3128
        upstreams: [{match: h, credential: a}, {match: i, credential: mailbox}]
        token_store: {file: tokens.json}
        credentials:
          mailbox: {oauth2: {grant: authorization_code, issuer: https://l, client_id: c}}
          a:
        \(indented)
        """)
      #expect(loaded.lines == [], "\(block)")
      #expect(loaded.settings?.credentials.count == 2, "\(block)")
    }
  }

  @Test("the settings in docs/caching.md work, too, without a warning")
  func caching() throws {
    let blocks = try Example.file("docs/caching.md").components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(blocks.count == 4)
    for block in blocks {
      let loaded = load("listen: 127.0.0.1:3128\n" + block)
      #expect(loaded.lines == [], "\(block)")
      #expect(loaded.settings?.upstreams.contains { $0.cache != nil } == true, "\(block)")
    }
  }

  @Test("the settings in docs/http2.md work, too, without a warning")
  func http2() throws {
    let blocks = try Example.file("docs/http2.md").components(separatedBy: "```yaml\n").dropFirst().map {
      $0.components(separatedBy: "```")[0]
    }
    #expect(blocks.count == 2)
    for block in blocks {
      let loaded = load("listen: 127.0.0.1:3128\n" + block)
      #expect(loaded.lines == [], "\(block)")
      #expect(loaded.settings?.upstreams.contains { $0.httpVersion != .http1 } == true, "\(block)")
    }
  }

  @Test("shows every key of the language")
  func complete() throws {
    let root = try #require(NodeComposer.compose(Array(uncommented.utf8), report: Report(file: "example")))
    var shown: Set<String> = []
    func collect(_ node: Node, _ path: KeyPath) {
      switch node.content {
      case .scalar: break
      case .sequence(let items): for item in items { collect(item, path) }
      case .mapping(let entries):
        for entry in entries {
          let named =
            ["credentials", "trust", "parents", "hosts", "parents.*.connect_headers"].contains(path.schema)
            ? path.named(entry.key) : path.key(entry.key)
          shown.insert(named.schema)
          collect(entry.value, named)
        }
      }
    }
    collect(root, KeyPath())
    for text in try Example.alternatives() {
      collect(try #require(NodeComposer.compose(Array(text.utf8), report: Report(file: "proxy.conf"))), KeyPath())
    }
    // Shown only once: the forms of a secret, a unix socket's permissions, the timeouts, and the evaluators, which a composite
    // repeats.
    let known = World.knownKeys(of: uncommented).union(World.knownKeys(of: wholeLanguage)).filter { key in
      let last = key.split(separator: ".").last.map(String.init) ?? ""
      return !["file", "env", "command", "timeout", "refresh", "generate"].contains(last) && !key.contains(".composite.")
        && !["admin.mode", "admin.owner", "admin.group"].contains(key) && !key.hasPrefix("upstreams.timeouts.")
    }
    #expect(known.subtracting(shown).sorted() == [])
    for form in ["{file: ", "{env: ", "{command: ", "timeout: 10s, refresh: ", "{generate: "] { #expect(text.contains(form)) }
  }

  @Test("shows the defaults: a file with the limits and timeouts written out means the same as one without")
  func defaults() throws {
    let settings = try #require(load(uncommented).settings)
    #expect(settings.limits == Limits())
    #expect(settings.timeouts == Timeouts())
    #expect(settings.log == LogSettings())
    #expect(settings.watchInterval == 10_000)
    #expect(settings.threads == nil)
  }
}
