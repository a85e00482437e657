import Foundation
import Testing

/// Files of CAs and TLS listeners that are replaced while the proxy runs: by SIGHUP, and by the watch alone.
@Suite struct BrokenCertificateFileTests {
  private let folder: String

  init() throws {
    folder = try Surroundings.newFolder()
    try Authority.create(folder + "/ca", for: "api.test")
    try certificate()
  }

  /// Of the listener; self-signed.
  private func certificate() throws {
    let made = try ChildProcess.run(
      "openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "\(folder)/new.key",
        "-out", "\(folder)/new.pem", "-subj", "/CN=proxy", "-days", "60", "-addext", "subjectAltName=DNS:localhost",
      ])
    guard made.status == .exited(0) else { throw HarnessError(made.errors) }
    for name in ["key", "pem"] {
      try Authority.replace("\(folder)/proxy.\(name)", with: Authority.content("\(folder)/new.\(name)"), mode: 0o600)
    }
  }

  private func configuration(watch: String) throws -> String {
    let listen = "listen: {address: 127.0.0.1:0, tls: {certificate: \(folder)/proxy.pem, key: {file: \(folder)/proxy.key}}}\n"
    return listen
      + (try Intercepted.configuration(top: "watch_files: \(watch)\nintercept: {ca: \(Authority.item(folder + "/ca"))}"))
  }

  private func statuses(_ proxy: ProxyProcess, listener: String = "proxy.pem") throws -> [Int] {
    try proxy.inside(
      ProxyProcess.last("GET", "/echo"), root: folder + "/ca/ca.pem", "--over", "localhost:\(folder)/\(listener)"
    ).statuses
  }

  @Test(arguments: ["ca/issuer.pem", "ca/issuer.key", "proxy.pem", "proxy.key"], [true, false])
  func `nonsense is an error with its place, and the old one serves`(_ name: String, _ byWatch: Bool) throws {
    try withProxy(try configuration(watch: byWatch ? "100ms" : "off")) { proxy throws in
      try FileManager.default.copyItem(atPath: folder + "/proxy.pem", toPath: folder + "/old.pem")
      let good = try Authority.content("\(folder)/\(name)")
      func spoil() throws { try Authority.replace("\(folder)/\(name)", with: "nonsense\n", mode: 0o600) }
      let line: String
      if byWatch {
        line = try proxy.watched(expecting: "reload failed", spoil)
      } else {
        try spoil()
        line = try proxy.reload(expecting: "reload failed")
      }
      let place = name.hasPrefix("ca") ? "intercept.ca." : "listen.tls."
      #expect(line.contains(place) && line.contains(/proxy\.conf:\d+:\d+: error/), "\(line)")
      #expect(try statuses(proxy, listener: "old.pem") == [200])
      func mend() throws { try Authority.replace("\(folder)/\(name)", with: good, mode: 0o600) }
      if byWatch {
        try proxy.watched(mend)
      } else {
        try mend()
        try proxy.reload()
      }
    }
  }

  @Test func `a listener's certificate that is renewed is served by the watch alone`() throws {
    try withProxy(try configuration(watch: "100ms")) { proxy throws in
      #expect(try statuses(proxy) == [200])
      try FileManager.default.copyItem(atPath: folder + "/proxy.pem", toPath: folder + "/old.pem")
      // Between its two files the watch may see a pair that does not belong together, which is an error of that reload.
      try proxy.watched(certificate)
      #expect(try statuses(proxy) == [200])
      let old = try ChildProcess.run(
        "curl",
        [
          "-sS", "--noproxy", "", "--proxy-cacert", folder + "/old.pem", "-x", "https://localhost:\(proxy.port)",
          "http://api.test/",
        ])
      #expect(old.status == .exited(60), "\(old.errors)")
    }
  }
}
