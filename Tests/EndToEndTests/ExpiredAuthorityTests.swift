import Foundation
import Testing

/// A CA that ends while the proxy runs.
@Suite struct ExpiredAuthorityTests {
  @Test func `its host is 502 before any handshake, and the other ones go on`() throws {
    let folder = try Surroundings.newFolder()
    try Authority.create(folder + "/long", for: "long.test")
    try Authority.createShortLived(folder + "/short", for: "api.test", seconds: 4)
    let top = "intercept: {ca: [\(Authority.item(folder + "/short")), \(Authority.item(folder + "/long"))]}"
    let text = try Intercepted.configuration(match: "[https://api.test, https://long.test]", top: top)
    try withProxy(text) { proxy throws in
      let seen = try proxy.inside(ProxyProcess.last("GET", "/echo"), root: folder + "/short/issuer.pem")
      #expect(seen.statuses == [200], "\(seen)")
      var answer = Answer()
      _ = try eventually {
        answer = try proxy.connectAnswer()
        return answer.status != 200
      }
      #expect(answer.status == 502 && answer.proxyError == "proxy_configuration_error", "\(answer.head)\(answer.text)")
      let other = try proxy.inside(
        ProxyProcess.last("GET", "/echo", host: "long.test"), target: "long.test:443", root: folder + "/long/ca.pem")
      #expect(other.statuses == [200], "\(other)")
    }
  }

  @Test func `one that the proxy made is made anew by SIGHUP, though nothing else changed, and published`() throws {
    for source in ["memory", "{generate: ca}"] {
      let (folder, clock) = (try Surroundings.newFolder(), try ShiftedClock())
      let top = "intercept: {ca: \(source), publish: \(folder)}"
      try withProxy(try Intercepted.configuration(top: top), environment: clock.environment) { proxy throws in
        #expect(try proxy.connectAnswer().status == 200)
        let before = try Authority.content(folder + "/ca.pem")
        try clock.set(days: 731)
        #expect(try proxy.connectAnswer().status == 502, "\(source)")
        try proxy.reload()
        #expect(try proxy.connectAnswer().status == 200, "\(source)")
        let after = try Authority.content(folder + "/ca.pem")
        #expect(after != before && after.components(separatedBy: "BEGIN").count == 2, "\(source)")
      }
    }
  }

  @Test func `its root is not published again, also not because a watched file changed`() throws {
    let folder = try Surroundings.newFolder()
    let (ca, published) = (folder + "/ca", folder + "/published")
    try Authority.createShortLived(ca, for: "other.test", seconds: 4)
    try Authority.create(folder + "/two", for: "api.test")
    for name in ["issuer.key", "issuer.pem"] {
      let second = name.replacingOccurrences(of: ".", with: "-2.")
      try FileManager.default.copyItem(atPath: "\(folder)/two/\(name)", toPath: "\(ca)/\(second)")
    }
    let text = try Intercepted.configuration(
      top: "watch_files: 100ms\nintercept: {ca: {generate: \(ca)}, publish: \(published)}")
    try withProxy(text) { proxy throws in
      let (one, two) = (try Authority.content(ca + "/issuer.pem"), try Authority.content(folder + "/two/ca.pem"))
      #expect(try Authority.content(published + "/ca.pem") == one + two)
      func hasEnded() throws -> Bool {
        try ChildProcess.run("openssl", ["x509", "-in", ca + "/issuer.pem", "-noout", "-checkend", "0"]).status != .exited(0)
      }
      #expect(try eventually { try hasEnded() })
      try proxy.watched {
        let changed = try Authority.content(proxy.configurationPath) + "name: another\n"
        try Authority.replace(proxy.configurationPath, with: changed, mode: 0o600)
      }
      #expect(try Authority.content(published + "/ca.pem") == two)
    }
  }
}
