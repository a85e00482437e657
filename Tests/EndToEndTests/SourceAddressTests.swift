import Foundation
import Glibc
import Testing

/// `bind`, `address_family` and `hosts`: where connections come from, and where they go.
@Suite struct SourceAddressTests {
  /// Takes a connection of the proxy, answers one request on it, and says where it came from.
  private func serve(_ listener: TestListener) throws -> (connection: RawConnection, source: String) {
    let connection = try listener.accept()
    try answer(on: connection)
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutableBytes(of: &address) { bytes in
      bytes.baseAddress.map { getpeername(connection.descriptor, $0.assumingMemoryBound(to: sockaddr.self), &length) } ?? -1
    }
    guard result == 0, let text = inet_ntoa(address.sin_addr) else { throw HarnessError("no peer") }
    return (connection, String(cString: text))
  }

  private func answer(on connection: RawConnection) throws {
    _ = try connection.read(through: "\r\n\r\n")
    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
  }

  private static func configuration(_ port: Int, _ top: String, entry: String = "") -> String {
    """
    threads: 1
    upstreams:
      - {match: api.test, origin: "http://127.0.0.1:\(port)"}
      - {match: own.test, origin: "http://127.0.0.1:\(port)"\(entry)}
    \(top)

    """
  }

  private static let request = ProxyProcess.request("GET", "http://api.test/")

  @Test func `connections come from the address in bind, an entry's before that of all`() throws {
    let listener = try TestListener()
    let text = Self.configuration(
      listener.port, "bind: [127.0.0.7, \"::1\"]\nconnect: {allow: [\"127.0.0.1:\(listener.port)\"]}\nforbidden_addresses: []",
      entry: ", bind: [127.0.0.8]")
    try withProxy(text) { proxy throws in
      for (host, source) in [("api.test", "127.0.0.7"), ("own.test", "127.0.0.8")] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://\(host)/"))
        #expect(try serve(listener).source == source)
        #expect(try client.readAnswer().status == 200)
      }
      let tunnel = try proxy.connect()
      try tunnel.send("CONNECT 127.0.0.1:\(listener.port) HTTP/1.1\r\nHost: x\r\n\r\n")
      #expect(try tunnel.readAnswer(to: "CONNECT").status == 200)
      try tunnel.send(Self.request)
      #expect(try serve(listener).source == "127.0.0.7")
    }
  }

  @Test func `an address that is not this machine's is 502, and no connection comes from another one`() throws {
    let listener = try TestListener()
    try withProxy(Self.configuration(listener.port, "bind: [203.0.113.9]")) { proxy throws in
      let answer = try proxy.ask("http://api.test/")
      expectOwnAnswer(answer, 502, "proxy_configuration_error")
      #expect(answer.proxyDetails?.contains("203.0.113.9") == true, "\(answer.head)")
      #expect(listener.staysAlone(for: 0.1))
    }
  }

  @Test(arguments: ["bind: [\"::1\"]", "address_family: ipv6", "address_family: ipv6\nbind: [\"::1\"]"])
  func `a family that is excluded is not used`(keys: String) throws {
    let listener = try TestListener()
    let text = Self.configuration(listener.port, keys, entry: ", address_family: ipv4, bind: [127.0.0.9]")
    try withProxy(text) { proxy throws in
      let answer = try proxy.ask("http://api.test/")
      #expect(answer.status == 502 && answer.proxyError == "destination_ip_unroutable", "\(answer.head)")
      #expect(listener.staysAlone(for: 0.1))
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("GET", "http://own.test/"))
      #expect(try serve(listener).source == "127.0.0.9")
    }
  }

  @Test func `a reload keeps connections from the same address, and no others`() throws {
    let listener = try TestListener()
    func text(_ top: String) -> String { Self.configuration(listener.port, top) }
    try withProxy(text("bind: [127.0.0.7]")) { proxy throws in
      let client = try proxy.connect()
      try client.send(Self.request)
      let first = try serve(listener)
      #expect(try client.readAnswer().status == 200)
      try proxy.reload(text("bind: [127.0.0.7]\ntimeouts: {connect: 9s}"))
      try client.send(Self.request)
      try answer(on: first.connection)
      #expect(try client.readAnswer().status == 200)
      try proxy.reload(text("bind: [127.0.0.8]"))
      try client.send(Self.request)
      #expect(try serve(listener).source == "127.0.0.8")
      #expect(try client.readAnswer().status == 200)
      #expect(try first.connection.readToEnd().bytes.isEmpty)
    }
  }

  @Test func `hosts are connected to directly, forbidden or not, and Host is the name`() throws {
    let listener = try TestListener()
    let text = """
      upstreams: [{match: api.test, origin: "http://far.test:\(listener.port)"}]
      unlisted_hosts: forward
      hosts: {far.test: [127.0.0.9, 127.0.0.1], near.test: [127.0.0.1]}

      """
    try withProxy(text) { proxy throws in
      for (host, url) in [("far.test", "api.test"), ("near.test", "near.test:\(listener.port)")] {
        let client = try proxy.connect()
        try client.send(ProxyProcess.request("GET", "http://\(url)/"))
        let connection = try listener.accept()
        let head = try connection.readText(through: "\r\n\r\n")
        #expect(head.contains("\r\nHost: \(host):\(listener.port)\r\n"), "\(head)")
        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(try client.readAnswer().status == 200)
      }
    }
  }
}
