import Crypto
import Interception
import TLS

/// Authorities to sign with, made when they are first asked for; most are valid from before 1970 for ever.
enum AuthoritySamples {
  /// By their path in the world of the tests.
  static let files: [String: String] = {
    do { return try make() } catch { return [:] }
  }()

  private static let century = 60_000
  private static func make() throws -> [String: String] {
    var files: [String: [UInt8]] = [:]
    func add(_ folder: String, _ authority: LocalAuthority, number: Int = 1, passphrase: [UInt8]? = nil) throws {
      let names = AuthorityFiles(number: number)
      files["\(folder)/\(names.certificates)"] = authority.issuer.pem + authority.root.pem
      files["\(folder)/\(names.key)"] = try authority.key.pem(passphrase: passphrase)
    }
    func authority(_ hosts: [String], days: Int = century) throws -> LocalAuthority {
      try LocalAuthority.create(for: hosts.map { PeerName($0) }, days: days, now: 0)
    }
    try add("ca", authority(["example.com", "192.0.2.7"]), passphrase: Array("s3cr3t".utf8))
    try add("one", authority(["one.example"]))
    try add("folder", authority(["one.example"]))
    try add("folder", authority(["two.example"], days: 1), number: 2)
    try add("folder", authority(["three.example"]), number: 3)
    files["one/other.key"] = try PrivateKey.generateP256().pem()
    files["one/open-to-others.key"] = files["one/issuer.key"]
    let key = try PrivateKey.generateP256()
    files["self/issuer.key"] = try key.pem()
    func signed(_ name: String, _ change: (inout CertificateBuilder) -> Void) throws {
      var builder = CertificateBuilder.authority("Sample")
      builder.notBefore = -3600
      builder.notAfter = Int64(century) * 86_400
      builder.constraints = NameConstraints(permitted: [.dns("example.com")])
      change(&builder)
      files[name] = try builder.selfSigned(with: key).pem
    }
    try signed("self/leaf.pem") { $0.isCA = false }
    try signed("self/sha1.pem") { $0.digest = .sha1 }
    try signed("self/ended.pem") { $0.notAfter = 1_700_000_000 }
    try signed("self/root.pem") { _ in }
    try signed("open/issuer.pem") { $0.constraints = NameConstraints() }
    files["open/issuer.key"] = files["self/issuer.key"]
    let weak = try PrivateKey.generateRSA(bits: 1024)
    files["self/weak.key"] = try weak.pem()
    files["self/weak.pem"] = try CertificateBuilder.authority("Weak").selfSigned(with: weak).pem
    // Constraints on the root alone.
    let below = try PrivateKey.generateP256()
    let root = try Certificate.parse(pem: files["self/root.pem"] ?? [])[0]
    var builder = CertificateBuilder.authority("Below")
    builder.notBefore = -3600
    builder.notAfter = Int64(century) * 86_400
    builder.constraints = NameConstraints()
    files["self/alone.pem"] = try builder.issued(to: below, by: root, key).pem
    files["self/below.pem"] = (files["self/alone.pem"] ?? []) + root.pem
    files["self/below.key"] = try below.pem()
    return files.mapValues { String(decoding: $0, as: UTF8.self) }
  }
}
