import Crypto
import TLS
import Testing

@testable import Trust

@Suite struct PinReportTests {
  @Test func `the report has every certificate, its pin, its days, and what verification says`() throws {
    let root = try Authority()
    let stranger = try Authority("Stranger")
    let leaf = try root.leaf { $0.notAfter = 1_900_000_000 }
    let witness = PinReport.Witness()
    let context = try TLSContext.client(ClientOptions(anchors: .certificates([root.certificate.der]), verifier: witness))
    let server = try Judged.server([leaf.certificate, stranger.certificate], leaf.key)
    #expect(try Judged(context, server).result == .done)
    var evidence = try #require(witness.evidence)
    evidence.now = 1_900_000_000 - 86_400 * 10
    let lines = PinReport.lines(evidence)
    #expect(lines.first == "api.example.com: the chain is verified")
    let pin = String(decoding: Base64.encode(leaf.certificate.publicKeyDigest), as: UTF8.self)
    #expect(lines.contains("  - \"sha256/\(pin)\""))
    #expect(lines.contains("  expires: 2030-03-17T17:46:40Z (10 days left)"))
    #expect(lines.contains("served 1: CN=Stranger"))
    #expect(lines.contains("  served, but not part of the verified chain: a pin on it would fail"))
    #expect(lines.contains("anchor: CN=Test Root"))
    #expect(lines.filter { $0.hasPrefix("  - \"sha256/") }.count == 3)
  }

  @Test func `the report begins with a failed verification or a wrong host`() throws {
    let root = try Authority()
    let leaf = try root.leaf(["other.example.com"])
    let witness = PinReport.Witness()
    let context = try TLSContext.client(ClientOptions(anchors: .certificates([]), verifier: witness))
    #expect(try Judged(context, Judged.server([leaf.certificate], leaf.key)).result == .done)
    let lines = PinReport.lines(try #require(witness.evidence))
    #expect(lines.first?.hasPrefix("api.example.com: NOT verified: unknown_issuer:") == true)
    #expect(lines.dropFirst().first == "the certificate does NOT name api.example.com")
    #expect(lines.contains("  not verified"))
  }
}
