import Settings
import Testing

@testable import ConfigurationFile

@Suite("Features that are not built yet")
struct UnbuiltFeatureTests {
  private func uses(_ text: String, _ table: [UnbuiltFeatures.Feature]) throws -> [String] {
    let root = try #require(NodeComposer.compose(Array(text.utf8), report: Report(file: "proxy.conf")))
    return UnbuiltFeatures.used(by: root, table: table).map { "\($0.place) \($0.keyPath): \($0.feature)" }
  }

  @Test("every use is found at its key, through lists and chosen names")
  func places() throws {
    let table = [
      UnbuiltFeatures.Feature("credentials.*.oauth2", name: "refreshing"), .init("upstreams.retry", name: "repeats"),
      .init("trust.*.revocation", name: "revocation"), .init("trust.*.composite.revocation", name: "nested revocation"),
    ]
    let text = """
      upstreams:
        - match: a
          retry: {attempts: 1}
        - match: b
      credentials:
        x: {oauth2: {}}
        y: {basic: {}}
      trust:
        t: [{default: {}}, {revocation: {}}, {composite: [{revocation: {}}]}]
      """
    #expect(
      try uses(text, table) == [
        "3:5 upstreams[0].retry: repeats", "6:7 credentials.x.oauth2: refreshing", "9:23 trust.t[1].revocation: revocation",
        "9:54 trust.t[2].composite[0].revocation: nested revocation",
      ])
  }

  @Test("a feature may hang on a value")
  func values() throws {
    let table = [
      UnbuiltFeatures.Feature("unlisted_hosts", value: "forward", name: "open proxy"),
      .init("trust.*.revocation.methods", value: "crl", name: "CRLs"),
    ]
    #expect(try uses("unlisted_hosts: deny\n", table) == [])
    #expect(try uses("unlisted_hosts: forward\n", table) == ["1:1 unlisted_hosts: open proxy"])
    #expect(
      try uses("trust: {a: [{revocation: {methods: [ocsp, crl]}}]}", table) == ["1:27 trust.a[0].revocation.methods: CRLs"])
  }

  @Test("the reader tells of those in its table, and accepts them")
  func reported() {
    let loaded = World.read(wholeLanguage)
    #expect(loaded.settings != nil)
    #expect(loaded.unbuilt.isEmpty == UnbuiltFeatures.table.isEmpty)
  }

  @Test("every entry of the table is a key that the language has")
  func tableIsTrue() {
    let known = World.knownKeys(of: wholeLanguage)
    for feature in UnbuiltFeatures.table { #expect(known.contains(feature.keyPath), "\(feature.keyPath)") }
  }
}
