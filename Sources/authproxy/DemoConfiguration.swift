import ConfigurationFile
import EventIO
import Files
import Settings
import TLS

/// The proxy's configuration in the demo: an ordinary text, which the demo prints. The files that it names are in memory.
struct DemoConfiguration {
  /// Folder of the files that the text names. It does not exist on disk.
  private static let folder = "/demo"
  static let api = "api.demo.internal"
  /// A server whose certificate was revoked.
  static let retired = "retired.demo.internal"
  static let clientID = "demo"

  let text: String
  /// The files that the text names.
  let system: SystemAccess

  /// Where the demo's servers listen.
  struct Places {
    var api, tokenServer, retired, responder: Address
  }

  /// - Parameter published: folder for the CA that apps trust.
  init(_ places: Places, authority: [UInt8], clientSecret: String, published: String) {
    text = """
      listen: 127.0.0.1:0                  # a free port
      upstreams:
        - match: [\(Self.api), https://\(Self.api)]  # what apps request
          origin: https://\(places.api)  # the proxy forwards to this
          credential: demo
        - match: \(Self.retired)
          origin: https://\(places.retired)
          credential: demo
      intercept: {ca: memory, publish: \(published)}  # for https:// URLs
      credentials:
        demo:
          oauth2:
            grant: client_credentials
            token_url: https://\(places.tokenServer)/token
            client_id: \(Self.clientID)
            client_secret: {file: client_secret}
      trust:
        default:
          - default: {ca_file: ca.pem, system_roots: false}
          - revocation: {methods: [ocsp], responder: "http://\(places.responder)/"}

      """
    let files = ["\(Self.folder)/ca.pem": authority, "\(Self.folder)/client_secret": Array(clientSecret.utf8)]
    system = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        // Apps are given the system's roots, too.
        if SystemRoots.candidates([:]).contains(path) { return try FileReading.read(path, limit: limit) }
        guard let bytes = files[path] else { throw FileError("not in the demo") }
        return FileContent(
          bytes: bytes, identity: FileIdentity(device: 0, inode: 0, size: Int64(bytes.count), modified: 0), permissions: 0o600)
      },
      run: SystemAccess.none.run)
  }

  func read() -> LoadedConfiguration {
    ConfigurationFile.read(text: Array(text.utf8), name: "demo", folder: Self.folder, environment: [:], system: system)
  }
}
