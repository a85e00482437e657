import Foundation
import Testing

/// `authproxy ca`: makes, shows and hands out CAs.
@Suite struct CACommandTests {
  private static let configuration = """
    listen: 127.0.0.1:3128
    upstreams:
      - {name: api, match: [https://api.test, api.test]}
      - {name: wide, match: "https://*.wide.test", origin: https://wide.test}
      - {name: own, match: "https://own.test", clients: [billing]}
      - {name: local, match: "https://intranet:8443"}
      - {name: six, match: "https://[2001:db8::7]"}
    connect: {allow: ["*.test:443", pinned.wide.test]}
    clients: [{name: billing, password: pw-5ecret}, {name: guest, from: [10.0.0.0/8], allow: [wide, "*.test:443"]}]
    intercept:
      ca: {certificate: ca/issuer.pem, key: {file: ca/issuer.key}}
      publish: published
    """

  private let folder: String

  init() throws {
    folder = try Surroundings.newFolder()
    try ProxyProcess.write(Self.configuration, to: folder + "/proxy.conf")
  }

  /// - Returns: both outputs in one line, as their line breaks depend on their words.
  private func authproxy(_ arguments: String) throws -> (status: ChildProcess.Ending, text: String, output: String) {
    let words = arguments.split(separator: " ").map(String.init)
    let done = try ChildProcess.run(Surroundings.program, words, folder: folder)
    let text = (done.output + done.errors).split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(!text.contains("5ecret") && !text.contains("PRIVATE KEY"))
    return (done.status, text, done.output)
  }

  private func mode(_ path: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: "\(folder)/\(path)")[.posixPermissions] as? Int)
  }

  private func content(_ path: String) throws -> String {
    try String(contentsOfFile: "\(folder)/\(path)", encoding: .utf8)
  }

  @Test func `a CA is made for the configuration whose files are missing, which is good then`() throws {
    #expect(try authproxy("check --config proxy.conf").status == .exited(78))
    let made = try authproxy("ca create --config proxy.conf --permit extra.example --days 10")
    #expect(made.status == .exited(0), "\(made.text)")
    #expect(try mode("ca/issuer.pem") == 0o644)
    #expect(try mode("ca/issuer.key") == 0o600)
    #expect(try mode("ca/ca.pem") == 0o644)
    #expect(try content("ca/issuer.pem").components(separatedBy: "BEGIN CERTIFICATE").count == 3)
    #expect(try content("ca/issuer.pem").hasSuffix(content("ca/ca.pem")))
    #expect(try content("ca/issuer.key").hasPrefix("-----BEGIN PRIVATE KEY-----"))

    let checked = try authproxy("check --config proxy.conf")
    #expect(checked.status == .exited(0), "\(checked.text)")
    let root = try ChildProcess.run(
      "openssl", ["x509", "-in", "ca/ca.pem", "-noout", "-fingerprint", "-sha256"], folder: folder)
    let print = try #require(root.output.split(separator: "=").last).trimmingCharacters(in: .whitespacesAndNewlines)
    for told in [made.text, checked.text] {
      #expect(told.contains(print))
      for name in ["api.test", "wide.test", "own.test", "intranet", "2001:db8::7", "extra.example"] {
        #expect(told.contains(name), "\(name) in \(told)")
      }
    }
    #expect(checked.text.contains("signs for api.test, *.wide.test, own.test, intranet, 2001:db8::7"))
    #expect(checked.text.contains("warning: intercept.ca.certificate: ") && checked.text.contains("expires in "))
  }

  @Test func `nothing is overwritten`() throws {
    #expect(try authproxy("ca create --config proxy.conf").status == .exited(0))
    let before = try (content("ca/issuer.pem"), content("ca/issuer.key"), content("ca/ca.pem"))
    let again = try authproxy("ca create --config proxy.conf")
    #expect(again.status == .exited(73))
    #expect(again.text.contains("ca/issuer.pem: File exists"), "\(again.text)")
    #expect(try (content("ca/issuer.pem"), content("ca/issuer.key"), content("ca/ca.pem")) == before)
    try FileManager.default.createDirectory(atPath: folder + "/other", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: folder + "/other/issuer.key", withDestinationPath: "stolen")
    #expect(try authproxy("ca create --config proxy.conf --out other").status == .exited(73))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/other") == ["issuer.key"])
    #expect(try authproxy("ca create --config proxy.conf --out proxy.conf/ca").status == .exited(73))
  }

  @Test(arguments: [
    "", "--permit com", "--permit *.internal", "--permit *", "--permit a.test:443", "--permit https://a.test",
    "--permit a.test --days 0",
    "--permit a.test --name \(String(repeating: "n", count: 41))", "--permit *.10.0.0.1",
  ])
  func `what would be no bound, or no name, is refused`(_ arguments: String) throws {
    let refused = try authproxy("ca create --out refused \(arguments)")
    #expect(refused.status == .exited(64), "\(refused.text)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/refused"))
  }

  @Test func `a single label is permitted where it is exactly a match`() throws {
    #expect(try authproxy("ca create --config proxy.conf --permit intranet").status == .exited(0))
    #expect(try authproxy("ca create --config proxy.conf --permit other --out b").status == .exited(64))
    #expect(try authproxy("ca create --permit intranet --out c").status == .exited(64))
    #expect(try authproxy("ca create --permit *.a.test --permit ::1 --permit 10.0.0.1 --out d").status == .exited(0))
  }

  @Test func `certificates are shown, and who signs for which match`() throws {
    #expect(try authproxy("ca create --config proxy.conf").status == .exited(0))
    let shown = try authproxy("ca show --config proxy.conf")
    #expect(shown.status == .exited(0))
    #expect(shown.text.contains("issuer itself SHA-256 "), "\(shown.text)")
    #expect(shown.text.contains("permits api.test and names below it, wide.test and names below it"))
    #expect(shown.text.contains("who signs api.test CN=authproxy issuer "))
    let file = try authproxy("ca show ca/ca.pem")
    #expect(file.status == .exited(0))
    #expect(file.text.hasPrefix("CN=authproxy root "))
    for wrong in ["ca show", "ca show --config proxy.conf ca/ca.pem", "ca show missing.pem", "ca show ca/issuer.key"] {
      #expect(try authproxy(wrong).status == .exited(64), "\(wrong)")
    }
  }

  @Test func `apps are told one variable a line, before there is a CA`() throws {
    let place = folder.replacing("//", with: "/")
    let shell = try authproxy("ca env --config proxy.conf")
    #expect(shell.status == .exited(0))
    #expect(shell.output.hasPrefix("export SSL_CERT_FILE='\(place)/published/bundle.pem'\n"), "\(shell.output)")
    #expect(shell.output.hasSuffix("disabledSchemes='\n"))
    let docker = try authproxy("ca env --config proxy.conf --format docker --proxy").output.split(separator: "\n")
    #expect(docker.contains("NODE_EXTRA_CA_CERTS=\(place)/published/ca.pem"))
    #expect(docker.suffix(2) == ["http_proxy=http://127.0.0.1:3128", "https_proxy=http://127.0.0.1:3128"])
    #expect(try authproxy("ca env --config proxy.conf --format csh").status == .exited(64))
    try ProxyProcess.write("listen: 127.0.0.1:3128\nupstreams: [{match: h}]\n", to: folder + "/plain.conf")
    #expect(try authproxy("ca env --config plain.conf").status == .exited(64))
  }

  @Test func `explain says what is intercepted, by which pattern, and who signs`() throws {
    #expect(try authproxy("ca create --config proxy.conf").status == .exited(0))
    for (request, told) in [
      (
        "CONNECT api.test:443",
        ["TLS intercepted by https://api.test, for api", "signed by CN=authproxy issuer", "clear HTTP 403"]
      ),
      ("GET https://api.test/v1", ["entry api", "TLS intercepted by https://api.test, for api", "signed by CN="]),
      ("CONNECT x.wide.test:443", ["TLS intercepted by https://*.wide.test, for wide"]),
      ("CONNECT pinned.wide.test:443", ["TLS an opaque tunnel by pinned.wide.test of connect.allow"]),
      ("CONNECT own.test:443", ["TLS intercepted by https://own.test, for own"]),
      ("--client guest CONNECT own.test:443", ["TLS an opaque tunnel by *.test:443", "not https://own.test"]),
      ("--client guest CONNECT api.test:443", ["TLS refused with 403: https://api.test is not for this client"]),
      ("CONNECT intranet:8443", ["TLS intercepted by https://intranet:8443, for local"]),
      ("CONNECT other.test:443", ["through an opaque tunnel"]), ("CONNECT other.example:443", ["403 Forbidden"]),
    ] {
      let client = request.hasPrefix("--client") ? "" : "--client billing "
      let explained = try authproxy("explain --config proxy.conf \(client)\(request)")
      #expect(explained.status == .exited(0))
      for words in told { #expect(explained.text.contains(words), "\(request): \(explained.text)") }
    }
  }
}
