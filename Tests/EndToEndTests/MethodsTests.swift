import Foundation
import Testing

/// `methods` of an entry: others are 403.
@Suite struct MethodsTests {
  private func configuration(_ methods: String) throws -> String {
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    return """
      connect: {allow: []}
      upstreams:
        - {name: reading, match: api.test/v1, origin: "\(origin)"\(methods)}
        - {match: api.test, origin: "\(origin)"}
      """
  }

  @Test func `an entry serves the methods that it lists, and no other entry serves the rest`() throws {
    let origin = try Origin.shared()
    try withProxy(try configuration(", methods: [GET, HEAD, PROPFIND]")) { proxy in
      each([
        ("GET", 200), ("HEAD", 200), ("PROPFIND", 200), ("POST", 403), ("OPTIONS", 403), ("get", 403), ("propfind", 403),
        ("DELETE", 403), ("TRACE", 403),
      ]) { (method, status) throws in
        let name = Origin.newName()
        let answer = try proxy.ask(method, "http://api.test/v1/x?id=\(name)")
        #expect(answer.status == status, "\(method): \(answer.head)")
        #expect(try origin.exchanges(name).count == (status == 200 ? 1 : 0))
        if status == 403 {
          #expect(answer.proxyError == "http_request_denied")
          #expect(answer["Proxy-Status"]?.contains("reading serves GET, HEAD, PROPFIND only") == true)
          #expect(answer.text.contains("`methods`"))
        }
      }
      #expect(try proxy.ask("POST", "http://api.test/echo", body: "x").status == 200)
      let told = try ChildProcess.run(
        Surroundings.program, ["explain", "--config", proxy.configurationPath, "POST", "http://api.test/v1/x"])
      #expect(told.output.contains("403 Forbidden, by the proxy itself"))
    }
  }

  @Test func `a body that is refused leaves the connection in step, and a reload changes the methods`() throws {
    try withProxy(try configuration(", methods: [GET]")) { proxy throws in
      let client = try proxy.connect()
      try client.send(ProxyProcess.request("POST", "http://api.test/v1/echo", body: "GET http://api.test/ HTTP/1.1\r\n\r\n"))
      #expect(try client.readAnswer().status == 403)
      try proxy.reload(try configuration(", methods: [POST]"))
      #expect(try proxy.ask("POST", "http://api.test/v1/x", body: "x").status == 200)
      #expect(try proxy.ask("http://api.test/v1/x").status == 403)
      try proxy.reload(try configuration(""))
      #expect(try proxy.ask("http://api.test/v1/x").status == 200)
    }
  }
}
