import Foundation
import Testing

/// A reload that changes what a host must prove also affects connections and sessions that were trusted before.
@Suite struct TrustReloadTests {
  private func configuration(_ origin: Origin, _ more: String...) throws -> String {
    let anchored = "- default: {ca_file: \(try Surroundings.pki())/ca.pem, system_roots: false}"
    return TrustCase.configuration(
      [TrustCase("api", "https://localhost:\(origin.ports.https)", [anchored] + more)], top: "threads: 1")
  }

  private var wrong: String { "- pinned_public_keys: {pins: [\"sha256/\(String(repeating: "A", count: 43))=\"]}" }

  @Test func `a policy that became stricter catches the pooled connection`() throws {
    let origin = try Origin()
    try withProxy(try configuration(origin)) { proxy in
      try proxy.expectTrusted("api")
      try proxy.expectTrusted("api")
      #expect(try origin.connections("https").accepted == 1)
      try proxy.reload(try configuration(origin, wrong), expecting: "reloaded")
      try proxy.expectRefused("api", "pinned_public_keys: pin_mismatch")
      // The proxy closes the connection that was trusted before.
      #expect(try origin.connections("https", count: 0).fits)
    }
  }

  @Test func `a policy that stayed the same keeps it`() throws {
    let origin = try Origin()
    try withProxy(try configuration(origin)) { proxy in
      try proxy.expectTrusted("api")
      try proxy.reload(try configuration(origin) + "unlisted_hosts: deny\n", expecting: "reloaded")
      try proxy.expectTrusted("api")
      #expect(try origin.connections("https").accepted == 1)
    }
  }

  @Test func `a local list that revokes catches it, too`() throws {
    let world = try TrustWorld.shared()
    let server = try TLSServer(world, "good")
    func configuration(_ list: String) -> String {
      let check = "- revocation: {check: leaf, methods: [crl], network: false, crl_files: [\(world.file(list))]}"
      return TrustCase.configuration([TrustCase("api", "https://localhost:\(server.port)", [world.root, check])])
    }
    try withProxy(configuration("list-good.pem")) { proxy in
      try proxy.expectTrusted("api")
      try proxy.reload(configuration("list-revoked.pem"), expecting: "reloaded")
      try proxy.expectRefused("api", "revocation: revoked")
    }
  }

  @Test func `a session from before is not resumed under another policy, and is under the same`() throws {
    let origin = try Origin()
    func resumed(_ proxy: ProxyProcess) throws -> Bool? { try proxy.ask("http://api.test/echo").received().tls?.resumed }
    try withProxy(try configuration(origin)) { proxy in
      #expect(try resumed(proxy) == false)
      try origin.dropConnections("https")
      #expect(try resumed(proxy) == true)
      try origin.dropConnections("https")
      try proxy.reload(try configuration(origin, wrong), expecting: "reloaded")
      try proxy.expectRefused("api", "pinned_public_keys: pin_mismatch")
      let reported = wrong.replacingOccurrences(of: "}", with: ", enforce: false}")
      try proxy.reload(try configuration(origin, reported), expecting: "reloaded")
      #expect(try resumed(proxy) == false)
    }
  }
}
