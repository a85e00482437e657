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

  /// CONNECT, TLS and a request, which brings tickets that the client keeps.
  /// - Returns: whether the handshake was resumed.
  private func visit(
    _ client: SteppedClient, root: String, version: String, outer: (certificate: String, key: String)? = nil
  ) throws -> Bool? {
    if let outer { try client.tls("localhost", root: root, identity: outer) }
    #expect(try client.connect("api.test:443").status == 200)
    let seen = try client.tls("api.test", root: root, version: version)
    #expect(try client.get("/echo").status == 200, "\(seen)")
    try client.keep()
    return seen.resumed
  }

  @Test(arguments: ["1.2", "1.3"])
  func `a ticket of one listener is a full handshake at another`(version: String) throws {
    try withProxy("listen: [127.0.0.1:0, 127.0.0.1:0]\n" + (try Intercepted.configuration())) { proxy throws in
      let ports = proxy.addresses.compactMap { $0.split(separator: ":").last.flatMap { Int($0) } }
      let client = try SteppedClient(ports[0])
      #expect(try visit(client, root: proxy.root, version: version) == false)
      try client.begin(ports[0])
      #expect(try visit(client, root: proxy.root, version: version) == true)
      try client.begin(ports[1])
      #expect(try visit(client, root: proxy.root, version: version) == false)
    }
  }

  @Test(arguments: ["1.2", "1.3"])
  func `the tickets of a CA that was removed are worth nothing, also when it comes back`(version: String) throws {
    let folder = try Surroundings.newFolder()
    func configuration(_ name: String) throws -> String {
      try Intercepted.configuration(top: "intercept: {ca: {generate: \(folder)/\(name)}}")
    }
    try withProxy(try configuration("one")) { proxy throws in
      let client = try SteppedClient(proxy.port)
      let both = folder + "/both.pem"
      let make = { try ChildProcess.run("/bin/sh", ["-c", "cat \(folder)/*/ca.pem > \(both)"]) }
      _ = try make()
      #expect(try visit(client, root: both, version: version) == false)
      try proxy.reload(try configuration("two"))
      // The client's context has read its roots: it begins anew with both.
      _ = try make()
      let other = try SteppedClient(proxy.port)
      #expect(try visit(other, root: both, version: version) == false)
      try proxy.reload(try configuration("one"))
      try client.begin(proxy.port)
      #expect(try visit(client, root: both, version: version) == false)
      try other.begin(proxy.port)
      #expect(try visit(other, root: both, version: version) == false)
    }
  }

  @Test(arguments: ["1.2", "1.3"])
  func `a ticket of one client certificate is a full handshake under another`(version: String) throws {
    let folder = try Surroundings.newFolder()
    for name in ["one", "two"] {
      let made = try ChildProcess.run(
        "/bin/sh",
        [
          "-c",
          "cd \(folder) && umask 077 && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout \(name).key "
            + "-out \(name).pem -subj /CN=x -days 2 -addext subjectAltName=URI:spiffe://test/\(name) && cat \(name).pem >> clients.pem",
        ])
      try #require(made.status == .exited(0), "\(made.errors)")
    }
    let text = """
      listen: {address: 127.0.0.1:0, tls: {names: [localhost], client_certificates: {ca_file: \(folder)/clients.pem}}}
      clients:
        - {name: one, certificate: {uri: "spiffe://test/one"}}
        - {name: two, certificate: {uri: "spiffe://test/two"}}

      """
    try withProxy(text + (try Intercepted.configuration())) { proxy throws in
      let client = try SteppedClient(proxy.port)
      func visit(_ name: String) throws -> Bool? {
        try client.begin(proxy.port)
        return try self.visit(
          client, root: proxy.root, version: version, outer: ("\(folder)/\(name).pem", "\(folder)/\(name).key"))
      }
      #expect(try visit("one") == false)
      #expect(try visit("one") == true)
      #expect(try visit("two") == false)
      #expect(try visit("two") == true)
    }
  }
}
