import Foundation
import Testing

/// A company's own CA: it may sign for any name, and its RSA key signs off the loops while handshakes wait.
@Suite struct SlowAuthorityTests {
  @Test func `an RSA authority serves many hosts at once`() throws {
    let folder = try Surroundings.newFolder()
    let made = try ChildProcess.run(
      "openssl",
      [
        "req", "-x509", "-newkey", "rsa:3072", "-nodes", "-keyout", "\(folder)/own.key", "-out", "\(folder)/own.pem", "-subj",
        "/CN=Company", "-days", "60", "-addext", "keyUsage=critical,keyCertSign,cRLSign",
      ])
    #expect(made.status == .exited(0), "\(made.errors)")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/own.key")
    let intercept = """
      intercept:
        ca: {certificate: \(folder)/own.pem, key: {file: \(folder)/own.key}, allow_unconstrained: true}
      """
    try withProxy(try Intercepted.configuration(match: "https://*.wild.test", top: intercept)) { proxy throws in
      let urls = (0..<12).map { "https://host\($0).wild.test/echo" } + ["https://host0.wild.test/echo"]
      let done = try ChildProcess.run(
        "curl",
        ["-sS", "--noproxy", "", "--cacert", folder + "/own.pem", "-x", "http://127.0.0.1:\(proxy.port)", "-Z"] + urls)
      #expect(done.status == .exited(0), "\(done.errors)")
      #expect(done.output.components(separatedBy: "Bearer \(Configuration.token)").count > urls.count, "\(done.output)")
    }
  }
}
