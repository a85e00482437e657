import Foundation
import Testing

/// Session tickets of intercepted connections, and what a reload leaves of them.
@Suite struct InterceptTicketTests {
  @Test(arguments: ["1.2", "1.3"])
  func `a client resumes for the same host, and goes on after a reload that leaves the CA alone`(version: String) throws {
    let configuration = try Intercepted.configuration()
    try withProxy(configuration) { proxy throws in
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), "--tls", version, "--repeat", "3")
      #expect(seen.resumed == [false, true, true], "\(seen)")
      try proxy.reload(configuration.replacingOccurrences(of: "upstreams:", with: "limits: {replay_body: 1KiB}\nupstreams:"))
      let after = try proxy.inside(ProxyProcess.last("GET", "/echo"), "--tls", version, "--repeat", "2")
      #expect(after.statuses == [200] && after.resumed == [false, true], "\(after)")
    }
  }

  @Test(arguments: ["1.2", "1.3"])
  func `a ticket of one host is a full handshake for another, as is one of another client`(version: String) throws {
    let clients = "clients: [{name: app, password: app-5ecret}, {name: other, password: other-5ecret}]"
    let configuration = try Intercepted.configuration(match: "https://*.wild.test", top: clients)
    try withProxy("listen: {address: 127.0.0.1:0, clients: optional}\n" + configuration) { proxy throws in
      let seen = try proxy.inside(
        "", target: "a.wild.test:443", "--tls", version, "--repeat", "3", "--then", "b.wild.test:443", "--password",
        "app:app-5ecret", "--patience", "0.3")
      #expect(seen.resumed == [false, false, true], "\(seen)")
      let other = try proxy.inside(
        "", target: "a.wild.test:443", "--tls", version, "--repeat", "3", "--password", "app:app-5ecret", "--other",
        "other:other-5ecret", "--patience", "0.3")
      #expect(other.resumed == [false, false, true], "\(other)")
    }
  }
}
