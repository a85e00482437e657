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
}
