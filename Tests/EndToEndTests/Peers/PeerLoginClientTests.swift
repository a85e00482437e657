import Foundation
import Testing

/// The demo's login server with a client by other hands, requests_oauth2client, so that not only our own client has judged it.
@Suite struct PeerLoginClientTests {
  @Test(.needsPackage("requests_oauth2client"))
  func `another client walks code, PAR, devices, refresh, revocation and DPoP, and is refused what it must be`() throws {
    let demo = try DemoProcess()
    let authority = URL(fileURLWithPath: demo.configuration).deletingLastPathComponent().path + "/ca.pem"
    let client = try ChildProcess.run(
      LoginPeer.python,
      [LoginPeer.programs + "/client.py", try demo.found("issuer"), try demo.found("origin"), authority])
    #expect(client.status == .exited(0), "\(client.errors)\(demo.process.output)")
    let steps = [
      "code", "code without PAR", "refresh with rotation", "revocation", "refusals", "authorization requests", "device", "DPoP",
    ]
    #expect(client.output.split(separator: "\n").map(String.init) == steps)
  }
}
