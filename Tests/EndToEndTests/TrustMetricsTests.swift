import Foundation
import Testing

/// What monitoring sees of trust.
@Suite struct TrustMetricsTests {
  @Test func `refusals, revocation, and the expiry of certificates and pins are figures of their own`() throws {
    let world = try TrustWorld()
    let (good, expired) = (try TLSServer(world, "ocsp"), try TLSServer(world, "expired"))
    let pins = "- pinned_public_keys: {pins: [\"\(try world.pin("ocsp"))\"], expires: 2999-01-01}"
    let check = RevocationByOCSPTests.check(", responder: \"\(world.url)/ocsp/good\"")
    let cases = [
      TrustCase("good", "https://localhost:\(good.port)", [world.root, pins, check]),
      TrustCase("expired", "https://localhost:\(expired.port)", [world.root]),
    ]
    try withProxy(TrustCase.configuration(cases, top: "threads: 1\nadmin: 127.0.0.1:0")) { proxy in
      try proxy.expectTrusted("good")
      try proxy.expectTrusted("good")
      try proxy.expectRefused("expired", "default: expired")
      let text = try proxy.admin("metrics").text
      func value(_ series: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }?.split(separator: " ").last.flatMap { Double($0) }
      }
      let refusals = #"authproxy_trust_failures_total{upstream="expired.test",evaluator="default",reason="expired"}"#
      #expect(value(refusals) == 1)
      #expect(value(#"authproxy_revocation_checks_total{source="ocsp",result="good"}"#) == 1)
      #expect(value(#"authproxy_revocation_checks_total{source="cache",result="good"}"#) == 1)
      // The pins are enforced through that day.
      #expect(value(#"authproxy_pin_expiry_timestamp_seconds{trust="good"}"#) == 32_472_230_400)
      let expiry = try #require(value(#"authproxy_certificate_expiry_timestamp_seconds{upstream="good.test"}"#))
      #expect(abs(expiry - Date().timeIntervalSince1970 - 90 * 86_400) < 600)
    }
  }
}
