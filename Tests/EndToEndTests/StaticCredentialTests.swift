import Foundation
import Testing

@Suite struct StaticCredentialTests {
  @Test func `basic, bearer and header credentials each arrive once, as written`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("file-5ecret\n", to: folder + "/token")
    let origin = "https://localhost:\(try Origin.shared().ports.https)"
    let entries = ["basic", "bearer", "key", "environment", "file", "helper"].map {
      "  - match: \($0).test\n    origin: \(origin)\n    credential: \($0)"
    }
    let configuration = """
      upstreams:
      \(entries.joined(separator: "\n"))
      credentials:
        basic:
          basic: {username: svc, password: "pä55:5ecret"}
        bearer:
          bearer: {token: tok-5ecret}
        key:
          header: {name: X-Api-Key, value: key-5ecret, format: "Token {value}"}
        environment:
          bearer: {token: {env: TEST_TOKEN}}
        file:
          bearer: {token: {file: \(folder)/token}}
        helper:
          bearer: {token: {command: [/bin/echo, "said-5ecret"], timeout: 10s}}
      """
    let basic = Data("svc:pä55:5ecret".utf8).base64EncodedString()
    try withProxy(configuration, environment: ["TEST_TOKEN": "env-5ecret"]) { proxy in
      each([
        ("basic", "Authorization", "Basic \(basic)"), ("bearer", "Authorization", "Bearer tok-5ecret"),
        ("key", "X-Api-Key", "Token key-5ecret"), ("environment", "Authorization", "Bearer env-5ecret"),
        ("file", "Authorization", "Bearer file-5ecret"), ("helper", "Authorization", "Bearer said-5ecret"),
      ]) { (host, field, value) in
        let received = try proxy.ask("http://\(host).test/echo").received()
        #expect(received.all(field) == [value], "\(host)")
      }
    }
  }
}
