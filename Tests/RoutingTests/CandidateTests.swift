import HTTPWire
import Routing
import Testing

@Suite struct CandidateTests {
  private func told(_ url: String, _ client: String? = nil) throws -> [String] {
    let given = try Target(url)
    let candidates = given.bytes.withUnsafeBytes { bytes in
      Router().candidates(
        host: normalisedHost(given.target.host.bytes(in: bytes)), port: given.target.effectivePort,
        isHTTPS: given.target.isHTTPS, path: given.target.path, in: bytes, client: client)
    }
    return candidates.map { "\($0.isTaken ? "+" : "-") \($0.name): \($0.reason)" }
  }

  @Test func `entries that do not take the request say why`() throws {
    #expect(
      try told("http://api.test/v1") == [
        "- spaced: serves paths under /a%20b", "- deeper: serves paths under /v1/x",
        "+ versioned: the host is the same, the path begins with /v1", "- own: serves only billing",
        "- whole: is less specific",
      ])
    #expect(try told("http://api.test/", "billing").contains("+ own: the host is the same, it serves billing"))
    #expect(try told("http://a.b.wide.test/") == ["+ wider: the host is below b.wide.test"])
  }

  @Test func `both readings of a path are told`() throws {
    #expect(
      try told("http://api.test/%76%31;a/y") == [
        "- spaced: serves paths under /a%20b", "- deeper: serves paths under /v1/x",
        "- versioned: serves the path as an origin may read it, /v1/y", "- own: serves only billing",
        "- whole: serves the path as it is written",
      ])
  }

  @Test func `entries of the host for other ports are near misses`() throws {
    #expect(try told("http://odd.test/") == ["- odd: serves port 8443"])
    #expect(try told("http://a.b.wide.test:1/").allSatisfy { $0.hasSuffix("serves port 80, and 443 of https:// URLs") })
    #expect(try told("http://nobody.test/") == [])
  }
}
