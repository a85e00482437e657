import Crypto
import Files
import TLS

/// The files that apps are given, so that they trust our roots. Holds no key.
public struct PublishedFiles: Sendable, Hashable {
  public static let rootsName = "ca.pem"
  public static let bundleName = "bundle.pem"
  public static let trustStoreName = "truststore.jks"
  public static let environmentName = "env.sh"
  public static let names = [rootsName, bundleName, trustStoreName, environmentName]

  public struct File: Sendable, Hashable {
    public let name: String
    public let bytes: [UInt8]
  }
  public let files: [File]

  /// Takes about 20 ms with the system's roots: not on an event loop.
  /// - Parameters:
  ///   - roots: ours.
  ///   - system: the system's, which apps go on to trust; nil: it has none.
  public init(roots: [Certificate], system: SystemRoots?, environment: AppEnvironment) throws(OpenSSLError) {
    // The system's may be a bundle that we wrote.
    var seen = Set(roots)
    let all = if let system { try Certificate.parse(pem: system.pem) } else { [] as [Certificate] }
    let others = all.filter { seen.insert($0).inserted }
    let entries = (roots.map { ("authproxy", $0) } + others.map { ("system", $0) }).map { origin, certificate in
      let mark = certificate.fingerprint.prefix(16).map { String(UInt16($0) + 0x100, radix: 16).dropFirst() }.joined()
      return (alias: "\(origin)-\(mark)", certificate: certificate)
    }
    files = [
      File(name: Self.rootsName, bytes: roots.flatMap(\.pem)),
      File(name: Self.bundleName, bytes: (roots + others).flatMap(\.pem)),
      File(name: Self.trustStoreName, bytes: JavaKeyStore.encode(entries)),
      File(name: Self.environmentName, bytes: Array(environment.text(.sh).utf8)),
    ]
  }

  /// Replaces each file in one step; what holds the same already is left alone. A disk that is full leaves all old files. Blocks.
  public func write(to folder: Folder) throws(FileError) {
    try folder.replace(files.map { ($0.name, $0.bytes) }, mode: 0o644)
  }
}
