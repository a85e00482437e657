import Credentials
import Settings
import Synchronization
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

  @Test("the key in a certificate is found, and its pin is OpenSSL's")
  func pin() throws {
    let der = try #require(PEM.blocks(Array(PEMSamples.certificate.utf8)).first).der
    let key = try #require(DER.subjectPublicKeyInfo(der))
    #expect("sha256/" + Base64.encode(ContentDigest.sha256(Array(key))) == PEMSamples.pin)
  }

  @Test("no cut or changed certificate brings the outline's reader down")
  func damaged() throws {
    let der = try #require(PEM.blocks(Array(PEMSamples.certificate.utf8)).first).der
    for length in 0..<der.count { #expect(DER.subjectPublicKeyInfo(Array(der[..<length])) == nil) }
    for index in der.indices {
      for bit in 0..<8 {
        var changed = der
        changed[index] ^= 1 << bit
        if let key = DER.subjectPublicKeyInfo(changed) { #expect(key.count <= der.count) }
        _ = DER.isRevocationList(changed)
      }
    }
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

  @Test("what an inspector finds is reported where the file is named")
  func inspector() {
    let inspector = CertificateInspector(
      certificate: { _ in [.init(.warning, "expires in 3 days")] },
      revocationList: { _ in [.init(.error, "is out of date")] },
      privateKey: { _, passphrase in passphrase == nil ? [] : [.init(.error, "does not open with this passphrase")] },
      keyPair: { _, _, _ in [.init(.error, "does not belong to the key")] })
    let text = """
      listen: 127.0.0.1:3128
      upstreams:
        - match: h
          trust: a
          client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        - match: i
          client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {env: TOKEN}}
      trust:
        a: [{revocation: {crl_files: [crl.pem]}}]
      """
    let loaded = ConfigurationFile.read(
      text: Array(text.utf8), name: "proxy.conf", folder: World.folder, environment: World.environment, inspector: inspector,
      system: World.system)
    #expect(
      loaded.lines == [
        "5:39: error: upstreams[0].client_certificate.certificate: /etc/authproxy/cert.pem does not belong to the key",
        "5:39: warning: upstreams[0].client_certificate.certificate: /etc/authproxy/cert.pem expires in 3 days",
        "7:39: warning: upstreams[1].client_certificate.certificate: /etc/authproxy/cert.pem expires in 3 days",
        "7:54: error: upstreams[1].client_certificate.key does not open with this passphrase",
        "9:34: error: trust.a[0].revocation.crl_files[0]: /etc/authproxy/crl.pem is out of date",
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
}
