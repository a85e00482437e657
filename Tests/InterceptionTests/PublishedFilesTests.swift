import Crypto
import Files
import Foundation
import TLS
import Testing

@testable import Interception

@Suite struct PublishedFilesTests {
  private let ours: Certificate
  private let others: [Certificate]
  private let files: PublishedFiles

  init() throws {
    ours = try authority(for: ["a.example"]).made.root
    others = try ["b.example", "c.example"].map { try authority(for: [$0]).made.root }
    // The bundle of the system may hold our root already.
    let system = SystemRoots(path: "", pem: Array("# comment\n".utf8) + (others + [ours]).flatMap(\.pem))
    files = try PublishedFiles(roots: [ours], system: system, environment: AppEnvironment(folder: "/run/ca"))
  }

  private func bytes(_ name: String) throws -> [UInt8] { try #require(files.files.first { $0.name == name }).bytes }

  @Test func `roots, bundle, trust store and variables`() throws {
    #expect(files.files.map(\.name) == ["ca.pem", "bundle.pem", "truststore.jks", "env.sh"])
    #expect(try Certificate.parse(pem: bytes("ca.pem")) == [ours])
    #expect(try Certificate.parse(pem: bytes("bundle.pem")) == [ours] + others)
    #expect(try bytes("env.sh") == Array(AppEnvironment(folder: "/run/ca").text(.sh).utf8))
    for file in files.files { #expect(!String(decoding: file.bytes, as: UTF8.self).contains("PRIVATE KEY")) }
  }

  @Test func `without roots of the system ours are alone`() throws {
    let alone = try PublishedFiles(roots: [ours], system: nil, environment: AppEnvironment(folder: "/run/ca"))
    #expect(alone.files.map(\.name) == files.files.map(\.name))
    #expect(alone.files[0].bytes == ours.pem)
    #expect(alone.files[1].bytes == ours.pem)
    #expect(throws: OpenSSLError.self) {
      let garbage = SystemRoots(path: "", pem: Array("garbage".utf8))
      return try PublishedFiles(roots: [ours], system: garbage, environment: AppEnvironment(folder: "/run/ca"))
    }
  }

  @Test func `a trust store is JKS, byte by byte`() throws {
    let store = try bytes("truststore.jks")
    #expect(store.prefix(12).elementsEqual([0xFE, 0xED, 0xFE, 0xED, 0, 0, 0, 2, 0, 0, 0, 3]))
    var rest = store.dropFirst(12)
    func number(_ count: Int) -> Int {
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
    }
    func block(_ count: Int) -> [UInt8] {
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    var aliases: Set<String> = []
    for certificate in [ours] + others {
      #expect(number(4) == 2)
      let alias = String(decoding: block(number(2)), as: UTF8.self)
      #expect(alias.hasPrefix(certificate == ours ? "authproxy-" : "system-"))
      aliases.insert(alias)
      #expect(number(8) == Int(certificate.notBefore) * 1000)
      #expect(block(number(2)) == Array("X.509".utf8))
      #expect(block(number(4)) == certificate.der)
    }
    #expect(aliases.count == 3)
    #expect(rest.count == 20)
    let secret = "changeit".utf8.flatMap { [0, $0] } + Array("Mighty Aphrodite".utf8)
    #expect(Array(rest) == SHA1.digest(secret + store.dropLast(20)))
  }

  @Test(.enabled(if: onPath("keytool"))) func `keytool reads a trust store`() throws {
    try withFolder { path in
      try files.write(to: Folder(path))
      let listed = try run("keytool", ["-list", "-keystore", "\(path)/truststore.jks", "-storepass", "changeit"])
      #expect(listed.contains("Your keystore contains 3 entries"), "\(listed)")
      #expect(listed.components(separatedBy: "trustedCertEntry").count == 4, "\(listed)")
      let print = ours.fingerprint.map { String(format: "%02X", $0) }.joined(separator: ":")
      #expect(listed.contains(print), "\(listed)")
      let refused = try run("keytool", ["-list", "-keystore", "\(path)/truststore.jks", "-storepass", "another"])
      #expect(refused.contains("password was incorrect"), "\(refused)")
    }
  }

  @Test func `files are written for everybody to read`() throws {
    try withFolder { path in
      let folder = try Folder("\(path)/sub/ca", makes: true)
      try files.write(to: folder)
      for file in files.files {
        let content = try FileReading.read("\(path)/sub/ca/\(file.name)", limit: 1 << 20)
        #expect(content.bytes == file.bytes)
        #expect(content.permissions == 0o644)
      }
    }
  }
}

@Suite struct AppEnvironmentTests {
  private static let java =
    "-Djavax.net.ssl.trustStore=/run/ca/truststore.jks -Djavax.net.ssl.trustStorePassword=changeit "
    + "-Djdk.http.auth.tunneling.disabledSchemes="

  @Test func `variables that replace roots name the bundle, those that add name our roots`() {
    let lines = AppEnvironment(folder: "/run/ca").text(.docker).split(separator: "\n").map(String.init)
    let bundle = [
      "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "AWS_CA_BUNDLE", "PIP_CERT",
      "CARGO_HTTP_CAINFO", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
    ]
    #expect(
      lines == bundle.map { "\($0)=/run/ca/bundle.pem" }
        + ["NODE_EXTRA_CA_CERTS=/run/ca/ca.pem", "DENO_CERT=/run/ca/ca.pem", "JAVA_TOOL_OPTIONS=\(Self.java)"])
    let proxy = AppEnvironment(folder: "/run/ca", proxy: "http://127.0.0.1:3128").text(.docker)
    #expect(proxy.hasSuffix("http_proxy=http://127.0.0.1:3128\nhttps_proxy=http://127.0.0.1:3128\n"))
  }

  @Test func `a shell reads back what was written`() throws {
    let folder = #"/tmp/a 'b' "c" $HOME `id` \x"#
    let environment = AppEnvironment(folder: folder)
    try withFolder { path in
      try environment.text(.sh).write(toFile: "\(path)/env.sh", atomically: true, encoding: .utf8)
      let seen = try run("sh", ["-c", ". \"$0\" && printf '%s\\n' \"$SSL_CERT_FILE\" && env", "\(path)/env.sh"])
      #expect(seen.hasPrefix(folder + "/bundle.pem\n"))
      for (name, value) in environment.variables { #expect(seen.contains("\n\(name)=\(value)\n")) }
    }
    #expect(environment.text(.systemd).hasPrefix(#"SSL_CERT_FILE="/tmp/a 'b' \"c\" \$HOME \`id\` \\x/bundle.pem""#))
  }
}
