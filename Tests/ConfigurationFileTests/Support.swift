import Credentials
import Files
import Glibc
import Settings

@testable import ConfigurationFile

/// A folder in memory, so that every case has the same few files.
enum World {
  static let folder = "/etc/authproxy"
  static let environment = ["TOKEN": "s3cr3t", "EMPTY": ""]
  static let files: [String: String] = [
    "token": "s3cr3t\n", "namespace": "team-a\n", "empty": "\n", "lines": "s3cr3t\r\nInjected: yes\n",
    "words": "s3cr3t with spaces",
    "long-password": String(repeating: "x", count: 256),
    "long": "s3cr3t-of-just-thirty-two-bytes!\n",
    "key32": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "other32": "HhwdHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA=\n",
    "cert.pem": PEMSamples.certificate, "next.pem": PEMSamples.next,
    "key.pem": PEMSamples.key, "rsa.pem": PEMSamples.rsaKey, "encrypted.pem": PEMSamples.encryptedKey,
    "crl.pem": PEMSamples.list,
    "rsa1024.pem": PEMSamples.weakKey,
    "broken.pem": "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
    "fake.pem": "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
    "mangled.pem": "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n",
    "half.pem": "-----BEGIN CERTIFICATE-----\nMAA=\n",
  ].merging(AuthoritySamples.files) { first, _ in first }

  /// The system's bundle of roots.
  static let roots = "/etc/ssl/certs/ca-certificates.crt"

  static let system = SystemAccess(
    readFile: { (path: String, limit: Int) throws(FileError) in
      if path == roots {
        let identity = FileIdentity(device: 1, inode: 2, size: 1, modified: 0)
        return FileContent(bytes: Array(PEMSamples.certificate.utf8), identity: identity, permissions: 0o644)
      }
      guard let text = files[String(path.dropFirst(folder.count + 1))] else { throw FileError("No such file or directory") }
      let identity = FileIdentity(device: 1, inode: 1, size: Int64(text.utf8.count), modified: 0)
      let permissions: UInt32 = path.hasSuffix("/open-to-others.key") ? 0o644 : 0o600
      return FileContent(bytes: Array(text.utf8), identity: identity, permissions: permissions)
    },
    readFolder: { (path: String) throws(FileError) in
      let start = path.dropFirst(folder.count + 1) + "/"
      let names = files.keys.filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
      guard !names.isEmpty else { throw FileError(errno: ENOENT) }
      return FolderContent(names: Set(names))
    },
    run: { (program: HelperProgram) throws(SecretError) in
      guard program.arguments.first != "/bin/fails" else { throw SecretError("exited with status 1") }
      return Array("from-a-program\n".utf8)
    })

  static func read(_ text: String, readableByOthers: Bool = false, system: SystemAccess = system) -> LoadedConfiguration {
    read(Array(text.utf8), readableByOthers: readableByOthers, system: system)
  }

  static func read(_ bytes: [UInt8], readableByOthers: Bool = false, system: SystemAccess = system) -> LoadedConfiguration {
    ConfigurationFile.read(
      text: bytes, name: "proxy.conf", folder: folder, environment: environment, readableByOthers: readableByOthers,
      system: system
    ).judged(bytes)
  }
}

extension LoadedConfiguration {
  /// In printed form, without the file's name.
  var lines: [String] { diagnostics.map { String($0.description.dropFirst("proxy.conf:".count)) } }
  var errorLines: [String] { errors.map { String($0.description.dropFirst("proxy.conf:".count)) } }
}
