import Foundation
import Testing

/// What apps are offered inside of intercepted TLS.
@Suite struct HTTP2OfferTests {
  @Test func `explain says it, by the entries that the client may use`() throws {
    let configuration = """
      listen: 127.0.0.1:3128
      intercept: {ca: {generate: ca}}
      clients: [{name: old, password: pw-5ecret}, {name: new, password: pw-5ecret}]
      upstreams:
        - {name: modern, match: "https://api.test", http_version: auto, clients: [new]}
        - {name: plain, match: "https://api.test", clients: [old]}
      """
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write(configuration, to: folder + "/proxy.conf")
    for (client, offers) in [("old", false), ("new", true)] {
      let explained = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", "proxy.conf", "--client", client, "CONNECT", "api.test:443"],
        folder: folder)
      let words = (explained.output + explained.errors).split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(explained.status == .exited(0), "\(words)")
      #expect(words.contains("offers h2 and http/1.1 to the app, which chooses") == offers, "\(client): \(words)")
    }
  }
}
