import Settings
import Testing

@testable import ConfigurationFile

@Suite("The description of the language")
struct LanguageTests {
  private let everyKey = RootKeys.everyKey()

  private func compose(_ text: String) throws -> Node {
    try #require(NodeComposer.compose(Array(text.utf8), report: Report(file: "proxy.conf")))
  }

  private func read(_ file: Node) -> LoadedConfiguration { ConfigurationFile.read(file, World.reading()).loaded }

  @Test("holds every key that the reader takes, and no other: a key that is described is read")
  func isRead() {
    // A composite contains the same keys as its policy, without end.
    let read = ([wholeLanguage] + fleetStores).map(World.knownKeys).reduce(Set()) { $0.union($1) }
      .filter { !$0.contains(".composite.") }
    #expect(Set(everyKey.map(\.path)).subtracting(read).sorted() == [])
    #expect(read.subtracting(everyKey.map(\.path)).sorted() == [])
  }

  @Test("is complete: every key has a sentence of its own, and its type, default and units can be told")
  func isComplete() {
    for place in everyKey {
      let sentence = place.key.sentence
      #expect(sentence.hasSuffix(".") && sentence.first?.isUppercase == true, "\(place.path): \(sentence)")
      #expect((10...140).contains(sentence.count), "\(place.path): \(sentence)")
      #expect(
        place.listing.split(separator: " | ", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }, "\(place.path)")
    }
    #expect(Set(everyKey.map(\.path)).count == everyKey.count)
  }

  @Test("can be listed: key, type, default, sentence")
  func listing() {
    let listing = Dictionary(uniqueKeysWithValues: everyKey.map { ($0.path, $0.listing) })
    for (path, line) in [
      ("threads", "auto, or integer from 1 to 256 | auto | Sets the number of event loops."),
      (
        "limits.request_head",
        "size from 1KiB to 1MiB (B, KiB, MiB, GiB, kB, KB, MB or GB) | 32KiB | Bounds a request's head; a larger one "
          + "gets 431, or 414 if its target alone is too long."
      ),
      (
        "timeouts.idle",
        "duration of at least 1ms (ms, s, m or h) | 75s | Closes client connections that are idle for this long."
      ),
      (
        "upstreams.match",
        "one or more: [https://]host or *.host, [:port][/path] | required | " + UpstreamKeys.table.keys.match.described.sentence
      ),
      (
        "upstreams.retry.methods",
        "list of: GET, HEAD, OPTIONS, TRACE, PUT or DELETE | [GET, HEAD, OPTIONS, PUT, DELETE] | Lists the methods that the proxy may repeat."
      ),
      ("credentials", "map of: section | none | Defines credentials by name, for upstream entries to refer to."),
      ("credentials.*.basic.password", "secret | required | The password."),
      (
        "trust",
        "map of: list of: section | the system's roots judge every origin | Defines trust policies by name; every evaluator of a policy must pass."
      ),
      ("trust.*.composite", "list of: section | another evaluator | Passes if all of these evaluators pass."),
      (
        "credentials.*.oauth2.login_lifetime",
        "duration of at least 1s (ms, s, m, h or d) | unknown | How long a login lasts if the server does not say; for "
          + "warnings before its end."
      ),
      ("token_store", "memory, or section | memory | Says where rotated refresh tokens live."),
      (
        "token_store.redis.timeout",
        "duration from 10ms to 1m (ms, s, m or h) | 2s | Bounds the time to connect, and that of each command."
      ),
    ] {
      #expect(listing[path] == line)
    }
  }

  @Test("says which keys exclude one another")
  func alternatives() {
    #expect(
      CredentialKeys.alternativeNames
        == [
          "basic", "bearer", "header", "oauth2", "sigv4", "cloud_identity", "jwt", "github_app", "hmac", "http_signature",
          "digest", "negotiate", "query", "path",
        ])
    #expect(SecretKeys.alternativeNames == ["file", "env", "command"])
    #expect(EvaluatorKeys.alternativeNames == EvaluatorKeys.descriptions.map(\.name))
  }

  @Test("tells true defaults: written out they mean the same as left out")
  func defaults() throws {
    var compared: Set<String> = []
    // Logins need another store than the default one.
    let files = try ([wholeLanguage, "listen: 127.0.0.1:3128\n"] + fleetStores).map(compose)
    for section in files.flatMap(DescribedSection.all) {
      for key in section.keys.descriptions {
        let place = DescribedPlace(path: section.path.key(key.name).schema, key: key, of: section.keys)
        guard let standard = key.standard, !compared.contains(place.identity) else { continue }
        let others = section.entries.filter { $0.key != key.name }
        let without = read(section.file(others))
        let written = Node.Entry(key: key.name, keyPlace: Place(line: 1, column: 1), value: standard)
        let with = read(section.file(others + [written]))
        // If the file needs another value than the default, the two cannot be compared.
        guard let one = without.settings, let other = with.settings else { continue }
        #expect(one == other, "\(place.path)")
        compared.insert(place.identity)
      }
    }
    let described = everyKey.filter { $0.key.standard != nil }.map(\.identity)
    #expect(Set(described) == compared)
  }

  @Test("has the defaults of the settings")
  func settings() {
    let listener = ListenerSettings(endpoint: .tcp(host: "127.0.0.1", port: 3128))
    #expect(World.read("listen: 127.0.0.1:3128\n").settings == Settings(listeners: [listener]))
    let entry = World.read("listen: 127.0.0.1:3128\nupstreams: [{match: h, retry: {}, rewrite: {}, timeouts: {}}]\n").settings
    #expect(
      entry?.upstreams == [
        UpstreamSettings(
          name: "h", match: UpstreamSettings.Match(host: "h"),
          origin: UpstreamSettings.Origin(scheme: .https, host: "h", port: 443), timeouts: Timeouts())
      ])
  }

  @Test("has every property of a section, in order")
  func declared() {
    var seen: [any KeySet.Type] = [RootKeys.self]
    var index = 0
    while index < seen.count {
      let keys = seen[index]
      #expect(keys.descriptions.map(\.name) == keys.reflected.map(\.name), "\(keys)")
      for (inner, _) in keys.descriptions.flatMap({ $0.shape.sections(KeyPath()) }) where !seen.contains(where: { $0 == inner })
      {
        seen.append(inner)
      }
      index += 1
    }
    #expect(seen.count > 40)
  }

  @Test("is shown in proxy.conf.example, key by key")
  func example() throws {
    var shown: Set<String> = []
    let texts = try [Example.uncommented()] + Example.alternatives()
    for section in try texts.flatMap({ DescribedSection.all(in: try compose($0)) }) {
      for key in section.keys.descriptions where section.entries.contains(where: { $0.key == key.name }) {
        shown.insert(DescribedPlace(path: "", key: key, of: section.keys).identity)
      }
    }
    // The comments above the example show the forms of a secret, and of a CA that stands alone.
    let missing = everyKey.map(\.identity).filter {
      !shown.contains($0) && !$0.hasPrefix("SecretKeys.") && $0 != "AuthorityKeys.generate"
    }
    #expect(Set(missing).sorted() == [])
    #expect(try Example.text().contains("{generate: "))
    for key in SecretKeys.descriptions { #expect(try Example.text().contains("\(key.name): "), "\(key.name)") }
  }
}

extension KeyDescription {
  /// The default in written form; nil if it has none.
  fileprivate var standard: Node? {
    let place = Place(line: 1, column: 1)
    func node(_ text: String) -> Node { Node(place: place, content: .scalar(text, plain: true)) }
    switch absence {
    case .text(let text): return node(text)
    case .list(let items): return Node(place: place, content: .sequence(items.map(node)))
    case .required, .otherwise: return nil
    }
  }
}

extension DescribedPlace {
  /// Type, default and sentence, as in a reference.
  fileprivate var listing: String { "\(key.shape.title) | \(key.absence.title) | \(key.sentence)" }
}
