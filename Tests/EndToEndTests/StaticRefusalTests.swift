import Foundation
import Testing

/// After a 401 on a static credential the proxy reads its source again, once.
@Suite struct StaticRefusalTests {
  @Test func `a changed file is picked up by the refused request itself`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("old-5ecret\n", to: folder + "/token")
    let origin = try Origin.shared()
    let configuration = """
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)", credential: api}
      credentials:
        api:
          bearer: {token: {file: \(folder)/token}}
      threads: 2
      watch_files: off
      """
    try withProxy(configuration) { proxy in
      #expect(try proxy.ask("http://api.test/echo?authorization=Bearer%20old-5ecret").status == 200)
      try ProxyProcess.write("new-5ecret\n", to: folder + "/token")
      let answer = try proxy.ask("POST", "http://api.test/echo?authorization=Bearer%20new-5ecret", body: "kept")
      #expect(answer.status == 200)
      #expect(try answer.received().body == "kept")
      for _ in 0..<4 { #expect(try proxy.ask("http://api.test/echo?authorization=Bearer%20new-5ecret").status == 200) }
      let refused = try proxy.ask("http://api.test/echo?authorization=other")
      #expect(refused.status == 401)
      #expect(refused.text == "not you\n")
      #expect(refused.proxyDetails == "not retried, the credential has not changed")
    }
  }

  @Test func `a program that says something new is asked again`() throws {
    let folder = try Surroundings.newFolder()
    try ProxyProcess.write("one-5ecret", to: folder + "/said")
    let origin = try Origin.shared()
    let configuration = """
      upstreams:
        - {match: api.test, origin: "https://localhost:\(origin.ports.https)", credential: api}
      credentials:
        api:
          header: {name: X-Api-Key, value: {command: [/bin/cat, \(folder)/said]}}
      """
    try withProxy(configuration) { proxy in
      #expect(try proxy.ask("http://api.test/echo?field=x-api-key&value=one-5ecret").status == 200)
      try ProxyProcess.write("two-5ecret", to: folder + "/said")
      #expect(try proxy.ask("http://api.test/echo?field=x-api-key&value=two-5ecret").status == 200)
    }
  }

  @Test func `a reload replaces the value for the very next request`() throws {
    func configuration(_ token: String) throws -> String {
      """
      upstreams:
        - {match: api.test, origin: "https://localhost:\(try Origin.shared().ports.https)", credential: api}
      credentials:
        api:
          bearer: {token: \(token)}
      threads: 2
      """
    }
    try withProxy(try configuration("t0-5ecret")) { proxy in
      for index in 1...5 {
        try proxy.reload(try configuration("t\(index)-5ecret"))
        for _ in 0..<4 {
          #expect(try proxy.ask("http://api.test/echo").received()["Authorization"] == "Bearer t\(index)-5ecret")
        }
      }
    }
  }
}
