import Foundation
import Testing

/// Pins for every place of the chain, each kind right and wrong.
@Suite struct PinningTests {
  private func keys(_ pins: [String], _ more: String = "") -> String {
    "- pinned_public_keys: {pins: [\(pins.map { "\"\($0)\"" }.joined(separator: ", "))]\(more)}"
  }

  private func certificates(_ world: TrustWorld, _ names: [String], _ more: String = "") -> String {
    "- pinned_certificates: {certificates: [\(names.map { world.file("\($0).pem") }.joined(separator: ", "))]\(more)}"
  }

  @Test func `a pinned key is found on leaf, intermediate and root, beside a wrong one, and after a new certificate for it`()
    throws
  {
    let world = try TrustWorld.shared()
    let (server, reissued) = (try TLSServer(world, "good"), try TLSServer(world, "reissued"))
    let (place, again) = ("https://localhost:\(server.port)", "https://localhost:\(reissued.port)")
    let (leaf, backup) = (try world.pin("good"), try world.pin("backup"))
    let root = world.root
    let cases = [
      TrustCase("leaf", place, [root, keys([leaf, backup])]),
      TrustCase("intermediate", place, [root, keys([try world.pin("intermediate"), backup])]),
      TrustCase("root", place, [root, keys([try world.pin("root"), backup])]),
      TrustCase("file", place, [root, "- pinned_public_keys: {certificates: [\(world.file("good-leaf.pem"))]}"]),
      TrustCase("reissued", again, [root, keys([leaf, backup])]),
      TrustCase("composite", place, [root, "- composite: [{pinned_public_keys: {pins: [\"\(leaf)\"]}}]"]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      each(cases.map(\.name)) { try proxy.expectTrusted($0) }
    }
  }

  @Test func `a key that is not pinned is refused, and the evaluator is named with its place`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "good", answers: false)
    let place = "https://localhost:\(server.port)"
    let backup = try world.pin("backup")
    let cases = [
      TrustCase("wrong", place, [world.root, keys([backup])]),
      TrustCase("nested", place, [world.root, "- composite: [{pinned_public_keys: {pins: [\"\(backup)\"]}}]"]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectRefused("wrong", "pinned_public_keys: pin_mismatch")
      try proxy.expectRefused("nested", "composite.pinned_public_keys: pin_mismatch")
      #expect(!server.sawRequest, "\(server.output)")
    }
  }

  @Test func `a pin on a certificate that was served but is no part of the verified chain fails`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "with-stranger")
    let place = "https://localhost:\(server.port)"
    let cases = [
      TrustCase("key", place, [world.root, keys([try world.pin("stranger")])]),
      TrustCase("certificate", place, [world.root, certificates(world, ["stranger"])]),
      TrustCase("unchained", place, [keys([try world.pin("stranger")], ", validate_chain: false")]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectRefused("key", "pinned_public_keys: pin_mismatch")
      try proxy.expectRefused("certificate", "pinned_certificates: pin_mismatch")
      try proxy.expectRefused("unchained", "pinned_public_keys: pin_mismatch")
    }
  }

  @Test func `a pinned certificate is found on leaf, intermediate and root; a new one for the same key is not`() throws {
    let world = try TrustWorld.shared()
    let (server, reissued) = (try TLSServer(world, "good"), try TLSServer(world, "reissued"))
    let place = "https://localhost:\(server.port)"
    let cases = [
      TrustCase("leaf", place, [world.root, certificates(world, ["good-leaf"])]),
      TrustCase("intermediate", place, [world.root, certificates(world, ["intermediate"])]),
      TrustCase("root", place, [world.root, certificates(world, ["root"])]),
      TrustCase("reissued", "https://localhost:\(reissued.port)", [world.root, certificates(world, ["good-leaf"])]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      each(["leaf", "intermediate", "root"]) { try proxy.expectTrusted($0) }
      try proxy.expectRefused("reissued", "pinned_certificates: pin_mismatch")
    }
  }

  @Test func `a self-signed certificate is accepted where it is pinned so; its host and dates still count`() throws {
    let world = try TrustWorld.shared()
    let (own, past, good) = (
      try TLSServer(world, "self-signed"), try TLSServer(world, "self-signed-expired"), try TLSServer(world, "good")
    )
    func policy(_ name: String) -> [String] { [certificates(world, [name], ", accept_self_signed: true")] }
    let cases = [
      TrustCase("own", "https://localhost:\(own.port)", policy("self-signed")),
      TrustCase("expired", "https://localhost:\(past.port)", policy("self-signed-expired")),
      TrustCase("other", "https://localhost:\(good.port)", policy("self-signed")),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("own")
      try proxy.expectRefused("expired", "pinned_certificates: expired")
      try proxy.expectRefused("other", "pinned_certificates: unknown_issuer")
    }
  }

  @Test func `report only lets a wrong key pass and says so; nothing but the comparison is spared`() throws {
    let world = try TrustWorld.shared()
    let (server, expired) = (try TLSServer(world, "good"), try TLSServer(world, "expired"))
    let wrong = keys([try world.pin("backup")], ", enforce: false")
    let cases = [
      TrustCase("reported", "https://localhost:\(server.port)", [world.root, wrong]),
      TrustCase("expired", "https://localhost:\(expired.port)", [world.root, wrong]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("reported")
      #expect(proxy.process.awaitLine { $0.contains("pin_mismatch") && $0.contains("\"policy\":\"reported\"") } != nil)
      try proxy.expectRefused("expired", "default: expired")
      for _ in 0..<5 { try proxy.expectTrusted("reported") }
      #expect(proxy.warnings("pin_mismatch") == 1, "\(proxy.process.lines.filter { $0.contains("pin_mismatch") })")
    }
  }

  @Test func `pins that have expired are no longer enforced, which is said`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "good")
    let wrong = try world.pin("backup")
    let cases = [
      TrustCase("past", "https://localhost:\(server.port)", [world.root, keys([wrong], ", expires: 2020-01-01")]),
      TrustCase("ahead", "https://localhost:\(server.port)", [world.root, keys([wrong], ", expires: 2999-01-01")]),
    ]
    try withProxy(TrustCase.configuration(cases)) { proxy in
      try proxy.expectTrusted("past")
      #expect(proxy.process.awaitLine { $0.contains("pins_expired") } != nil)
      try proxy.expectRefused("ahead", "pinned_public_keys: pin_mismatch")
    }
  }
}
