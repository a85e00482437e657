import Foundation
import Testing

/// curl beside the proxy: whether a tunnel comes of each answer of a parent. docs/company-proxy.md has the differences.
@Suite struct ParentOracleTests {
  private static let target = "far.test:25"

  /// Plays the parent for one connection.
  private func play(_ it: OracleAnswer, isSOCKS: Bool, _ listener: TestListener) throws -> RawConnection {
    let server = try listener.accept()
    if isSOCKS {
      _ = try server.read(2).last.map { try server.read(Int($0)) }
      it.send(it.greeting, on: server)
      guard it.greeting == [5, 0] else {
        it.send(it.bytes, on: server)
        if it.closes { server.halfClose() }
        return server
      }
      // Version, command, 0, a name, its length; then the name and the port.
      let request = try server.read(5)
      _ = try server.read(Int(request[4]) + 2)
    } else {
      _ = try server.readText(through: "\r\n\r\n")
    }
    it.send(it.bytes, on: server)
    if it.closes { server.halfClose() }
    return server
  }

  /// Whether the origin's first bytes came out of a tunnel.
  private func opens(_ it: OracleAnswer, isSOCKS: Bool, _ proxy: ProxyProcess, _ listener: TestListener) throws -> Bool {
    let client = try proxy.connect()
    try client.send("CONNECT \(Self.target) HTTP/1.1\r\nHost: \(Self.target)\r\n\r\n")
    let server = try play(it, isSOCKS: isSOCKS, listener)
    let answer = try client.readAnswer(to: "CONNECT")
    guard answer.status == 200 else {
      #expect(answer.proxyError != nil, "\(it.name): \(answer.head)")
      return false
    }
    let first = try client.read(OracleAnswer.first.utf8.count)
    #expect(first == Array(OracleAnswer.first.utf8), "\(it.name)")
    server.close()
    return true
  }

  private func curlOpens(_ it: OracleAnswer, isSOCKS: Bool, _ listener: TestListener) throws -> Bool {
    let curl = try ChildProcess(
      "curl",
      [
        "-sS", "-N", "--noproxy", "", "--max-time", "3", "--proxytunnel", "-x",
        "\(isSOCKS ? "socks5h" : "http")://127.0.0.1:\(listener.port)", "telnet://\(Self.target)",
      ])
    let server = try play(it, isSOCKS: isSOCKS, listener)
    // It reads its standard input, too.
    _ = try eventually { curl.ending != nil || curl.output.hasSuffix(OracleAnswer.first) }
    curl.closeInput()
    guard curl.awaitEnd(seconds: 20) != nil else { throw HarnessError("curl does not end: \(it.name)") }
    server.close()
    return curl.output.hasSuffix(OracleAnswer.first)
  }

  @Test(.serialized, arguments: [false, true])
  func `a tunnel comes of the same answers as with curl, but for what the page lists`(_ isSOCKS: Bool) throws {
    let page = try String(contentsOfFile: Surroundings.root + "/docs/company-proxy.md", encoding: .utf8)
      .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let configuration = { (port: Int) in
      """
      via: p
      parents: {p: {url: "\(isSOCKS ? "socks5h" : "http")://127.0.0.1:\(port)"}}
      upstreams: []
      connect: {allow: ["\(Self.target)"]}
      timeouts: {connect: 3s}

      """
    }
    let listener = try TestListener(backlog: 64)
    let cases = isSOCKS ? OracleAnswer.socks : OracleAnswer.connect
    // After a refusal of its credential the parent is not asked again for a while.
    for part in [cases.filter { !$0.refusesLogin }] + cases.filter(\.refusesLogin).map({ [$0] }) {
      try withProxy(configuration(listener.port)) { proxy throws in
        each(part) { it throws in
          let ours = try opens(it, isSOCKS: isSOCKS, proxy, listener)
          let curls = try curlOpens(it, isSOCKS: isSOCKS, listener)
          #expect(ours == it.opens, "\(it.name): the proxy")
          #expect(curls == it.curlOpens, "\(it.name): curl")
          #expect((it.opens == it.curlOpens) == (it.difference == nil), "\(it.name)")
          if let difference = it.difference { #expect(page.contains(difference), "\(it.name): not in docs/company-proxy.md") }
        }
      }
    }
  }
}
