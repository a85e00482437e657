import Credentials
import Crypto
import Files
import Settings
import Synchronization
import TLS
import Testing

@testable import ConfigurationFile

@Suite("Certificates, keys and CRLs in files")
struct CertificateFileTests {
  @Test("a bundle is split into its certificates; keys and text between them do not matter")
  func bundle() throws {
    let text = "Bag Attributes\r\n" + PEMSamples.key + "\nsubject=x\n" + PEMSamples.certificate + "\n\n" + PEMSamples.next
    let blocks = try PEM.blocks(Array(text.utf8))
    #expect(blocks.map(\.label) == ["PRIVATE KEY", "CERTIFICATE", "CERTIFICATE"])
    #expect(blocks.allSatisfy { !$0.isEncrypted })
    #expect(String(decoding: PEM.encode(blocks[1].der, label: "CERTIFICATE"), as: UTF8.self) == PEMSamples.certificate + "\n")
  }

  @Test("an old encrypted key is known by its header")
  func encrypted() throws {
    let text = """
      -----BEGIN RSA PRIVATE KEY-----
      Proc-Type: 4,ENCRYPTED
      DEK-Info: AES-256-CBC,00

      AAAA
      -----END RSA PRIVATE KEY-----
      """
    #expect(try PEM.blocks(Array(text.utf8)).map(\.isEncrypted) == [true])
  }

  @Test("the key of a pinned certificate counts with the pin that OpenSSL's tools print")
  func pin() throws {
    let text = "trust: {default: [{pinned_public_keys: {certificates: [cert.pem], pins: [\(PEMSamples.pin)]}}]}\n"
    let loaded = World.read("listen: 127.0.0.1:3128\nupstreams: [{match: h}]\n" + text)
    guard case .pinnedPublicKeys(let pinned) = loaded.settings?.trust["default"]?.evaluators.first else {
      Issue.record("no pins")
      return
    }
    #expect(pinned.pins.map { "sha256/" + String(decoding: Base64.encode($0), as: UTF8.self) } == [PEMSamples.pin])
  }

  @Test("DER files are read as well as PEM")
  func der() throws {
    let der = try #require(PEM.blocks(Array(PEMSamples.certificate.utf8)).first).der
    let system = SystemAccess(
      readFile: { (_: String, _: Int) throws(FileError) in
        FileContent(bytes: der, identity: FileIdentity(device: 0, inode: 0, size: 0, modified: 0), permissions: 0)
      }, run: World.system.run)
    let text = "listen: 127.0.0.1:3128\nupstreams: [{match: h}]\ntrust: {default: [{default: {ca_file: x.der}}]}\n"
    let loaded = World.read(text, system: system)
    #expect(loaded.settings?.trust["default"]?.anchors == .only([der]))
  }

  private func lines(_ text: String, at now: Int64) -> [String] {
    let reading = Reading(
      report: Report(file: "proxy.conf"), folder: World.folder, environment: World.environment, system: World.system,
      readableByOthers: false, now: now)
    return ConfigurationFile.read(Array(text.utf8), reading).loaded.judged(Array(text.utf8)).lines
  }

  @Test("certificates that have ended, end soon or have not begun are warned of, and lists that are out of date")
  func dates() throws {
    let certificate = try #require(Certificate.parse(pem: Array(PEMSamples.certificate.utf8)).first)
    let text = """
      listen: 127.0.0.1:3128
      upstreams: [{match: h}]
      trust:
        default: [{default: {ca_file: cert.pem}}]
      """
    let start = "4:33: warning: trust.default[0].default.ca_file: /etc/authproxy/cert.pem, 'CN=origin.test', "
    let (begin, end) = (UTCDate.text(certificate.notBefore), UTCDate.text(certificate.notAfter))
    #expect(lines(text, at: certificate.notBefore - 1) == [start + "is not valid before \(begin)"])
    #expect(lines(text, at: certificate.notBefore) == [])
    #expect(lines(text, at: certificate.notAfter - 30 * 86_400) == [])
    #expect(lines(text, at: certificate.notAfter - 7 * 86_400) == [start + "expires in 7 days, on \(end)"])
    #expect(lines(text, at: certificate.notAfter + 1) == [start + "expired on \(end)"])

    let list = try #require(CertificateList.parse(Array(PEMSamples.list.utf8)).first)
    let update = try #require(list.nextUpdate)
    let revoking = text.replacing("default: {ca_file: cert.pem}", with: "revocation: {crl_files: [crl.pem]}")
    #expect(lines(revoking, at: update - 1) == [])
    #expect(
      lines(revoking, at: update + 1) == [
        "4:39: warning: trust.default[0].revocation.crl_files[0]: /etc/authproxy/crl.pem has been out of date since "
          + "\(UTCDate.text(update)); the proxy ignores it"
      ])
  }

  @Test("keys that do not open, do not fit or are too weak are errors that show nothing of them")
  func keys() throws {
    let weak = try String(decoding: PrivateKey.generateRSA(bits: 1024).pem(), as: UTF8.self)
    let system = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        guard path.hasSuffix("weak.pem") else { return try World.system.readFile(path, limit) }
        let identity = FileIdentity(device: 0, inode: 0, size: 0, modified: 0)
        return FileContent(bytes: Array(weak.utf8), identity: identity, permissions: 0)
      }, run: World.system.run)
    let text = """
      listen: 127.0.0.1:3128
      upstreams:
        - match: h
          client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {file: words}}
        - match: i
          client_certificate: {certificate: next.pem, key: {file: key.pem}}
        - match: j
          client_certificate: {certificate: next.pem, key: {file: mangled.pem}}
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, private_key: {file: weak.pem}}}
      """
    #expect(
      World.read(text, system: system).errorLines == [
        "4:54: error: upstreams[0].client_certificate.key cannot be decrypted with this 'passphrase'",
        "6:54: error: upstreams[1].client_certificate.key does not belong to the first certificate of /etc/authproxy/next.pem",
        "8:54: error: upstreams[2].client_certificate.key is not a readable private key",
        "10:94: error: credentials.a.oauth2.private_key must be RSA of 2048 bits or more, EC over P-256 or "
          + "P-384, or Ed25519",
      ])
  }

  @Test("a file that is named often is read once")
  func once() {
    let reads = Mutex(0)
    let system = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        reads.withLock { $0 += 1 }
        return try World.system.readFile(path, limit)
      }, run: World.system.run)
    let text = "listen: 127.0.0.1:3128\ntrust: {a: [{default: {ca_file: cert.pem}}], b: [{default: {ca_file: cert.pem}}]}\n"
    let loaded = World.read(text, system: system)
    #expect(loaded.watched.count == 1)
    #expect(reads.withLock { $0 } == 1)
  }

  /// The bundle paths that were read, and whether one was found.
  private static func roots(_ text: String, _ files: [String: String], _ environment: [String: String] = [:]) -> [String] {
    let system = SystemAccess(
      readFile: { (path: String, _: Int) throws(FileError) in
        guard let text = files[path] else { throw FileError("No such file or directory") }
        return FileContent(
          bytes: Array(text.utf8), identity: FileIdentity(device: 0, inode: 0, size: 0, modified: 0), permissions: 0o644)
      }, run: World.system.run)
    let loaded = ConfigurationFile.read(
      text: Array("listen: 127.0.0.1:3128\n\(text)\n".utf8), name: "proxy.conf", folder: "/etc/authproxy",
      environment: environment,
      system: system)
    #expect(loaded.errors.isEmpty, "\(loaded.errors)")
    let found = loaded.settings?.systemRoots.map { ["= \($0.path)"] } ?? []
    return loaded.systemRootsFiles.map { $0.identity == nil ? "- \($0.path)" : $0.path } + found
  }

  @Test("the system's roots are read and watched if the configuration uses them")
  func systemRoots() {
    let own = ["SSL_CERT_FILE": "/own.pem"]
    let files = [
      "/own.pem": "own", "/etc/ssl/certs/ca-certificates.crt": "debian", "/etc/authproxy/ca.pem": PEMSamples.certificate,
    ]
    let upstream = "upstreams: [{match: a.test}]"
    #expect(Self.roots(upstream, files, own) == ["/own.pem", "= /own.pem"])
    // An operator who restricts the roots must not get others if the file is missing.
    #expect(Self.roots(upstream, [:], own) == ["- /own.pem"])
    #expect(
      Self.roots(upstream, files).suffix(2) == ["/etc/ssl/certs/ca-certificates.crt", "= /etc/ssl/certs/ca-certificates.crt"])
    #expect(Self.roots(upstream, files).dropLast(2).allSatisfy { $0.hasPrefix("- ") })
    #expect(Self.roots("unlisted_hosts: forward", files, own) == ["/own.pem", "= /own.pem"])
    #expect(Self.roots("unlisted_hosts: deny", files, own).isEmpty)
    let alone = "{default: {ca_file: ca.pem}}"
    let both = "{default: {ca_file: ca.pem, system_roots: true}}"
    #expect(Self.roots("\(upstream)\ntrust: {default: [\(alone)]}", files, own).isEmpty)
    #expect(Self.roots("\(upstream)\ntrust: {default: [\(both)]}", files, own) == ["/own.pem", "= /own.pem"])
  }

  @Test("a folder of roots is not read, with a warning")
  func folderOfRoots() {
    func warnings(_ environment: [String: String]) -> Int {
      ConfigurationFile.read(
        text: Array("listen: 127.0.0.1:3128\nupstreams: [{match: a.test}]\n".utf8), name: "proxy.conf",
        folder: "/etc/authproxy",
        environment: environment, system: World.system
      ).warnings.filter { $0.message.contains("does not read SSL_CERT_DIR") }.count
    }
    #expect(warnings(["SSL_CERT_DIR": "/etc/roots"]) == 1)
    #expect(warnings(["SSL_CERT_DIR": "/etc/roots", "SSL_CERT_FILE": "/own.pem"]) == 0)
    #expect(warnings([:]) == 0)
  }
}
