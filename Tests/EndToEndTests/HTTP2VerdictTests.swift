import Foundation
import Testing

/// Not even the preface is written before the certificate is trusted.
@Suite struct HTTP2VerdictTests {
  @Test(arguments: ["good", "revoked"]) func `nothing is written before the verdict`(verdict: String) throws {
    let world = try TrustWorld()
    let origin = try HTTP2Origin(certificate: world.file("ocsp"))
    let check = RevocationByOCSPTests.check(
      ", timeout: 20s, require_positive_response: true, responder: \"\(world.url)/ocsp/\(verdict)?delay=1\"")
    let cases = [TrustCase("held", origin.url, [world.root, check], entry: ["http_version: auto"])]
    try withProxy(TrustCase.configuration(cases)) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://held.test/", body: "mine"))
      try origin.await(.connections)
      #expect(try eventually { try world.count(verdict) == 1 })
      #expect(try origin.tell().connections.map(\.bytes) == [0])
      let answer = try client.readAnswer()
      if verdict == "good" {
        #expect(try answer.told().body == "mine")
      } else {
        expectOwnAnswer(answer, 502, "tls_certificate_error")
        #expect(try origin.tell().connections.map(\.bytes) == [0])
      }
    }
  }
}
