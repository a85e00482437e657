import ConfigurationFile
import DemoServers
import EventIO
import Settings

/// The proxy's configuration in the demo: an ordinary file, which the demo prints.
struct DemoConfiguration {
  static let api = "api.demo.internal"
  /// The same API, for a person who has logged in.
  static let mail = "mail.demo.internal"
  /// The same API, over HTTP/2 only.
  static let events = "events.demo.internal"
  /// It challenges with Digest.
  static let camera = "camera.demo.internal"
  static let cameraUser = "viewer"
  /// It wants requests signed for S3.
  static let store = "store.demo.internal"
  static let storeKeyID = "DEMOKEY"
  /// The same API: what it lets apps keep is stored.
  static let prices = "prices.demo.internal"
  static let secondClient = "second"
  /// A server whose certificate was revoked.
  static let retired = "retired.demo.internal"
  static let clientID = "demo"
  static let loginClientID = "demo-app"

  let text: String
  /// Of the second client.
  let secondPassword: String
  private let folder: DemoFolder

  /// Where the demo's servers listen.
  struct Places {
    var api, events, camera, store, tokenServer, loginServer, retired, responder: Address
  }

  /// What the demo's servers want to see.
  struct Secrets {
    let client, camera, store, secondClient: String

    init() throws {
      client = try TokenBook.randomText()
      camera = try TokenBook.randomText()
      store = try TokenBook.randomText()
      secondClient = try TokenBook.randomText()
    }
  }

  /// Writes it, and the files that it names, into the folder.
  /// - Parameter hasLogin: with a credential to which a person logs in.
  init(
    _ places: Places, authority: [UInt8], _ secrets: Secrets, in folder: DemoFolder, hasLogin: Bool
  ) throws(DemoWorld.Failure) {
    let entry = """

        - match: \(Self.mail)
          origin: https://\(places.api)
          credential: mailbox           # a person's
      """
    let credential = """

        mailbox:
          oauth2:
            grant: authorization_code
            issuer: http://\(places.loginServer)
            client_id: \(Self.loginClientID)
            scope: openid offline_access mail.read
      token_store: {file: tokens.json}
      """
    text = """
      listen: {address: 127.0.0.1:0, clients: optional}  # a free port
      admin: 127.0.0.1:0              # the dashboard is there
      clients: [{name: \(Self.secondClient), password: {file: client_password}}]
      anonymous: {allow: ["\(Self.api)", "\(Self.events)", "\(Self.camera)",
        "\(Self.store)", "\(Self.prices)", "\(Self.retired)"\(hasLogin ? ", \"\(Self.mail)\"" : "")]}
      upstreams:
        - match: [\(Self.api), https://\(Self.api)]  # what apps request
          origin: https://\(places.api)  # the proxy forwards to this
          credential: demo
        - match: \(Self.events)
          origin: https://\(places.events)
          http_version: 2
          credential: demo
        - match: \(Self.camera)
          origin: https://\(places.camera)
          credential: camera
        - match: \(Self.store)
          origin: https://\(places.store)
          credential: store
        - match: \(Self.prices)
          origin: https://\(places.api)
          credential: demo
          cache: {}                     # each client has a store of its own
        - match: \(Self.retired)
          origin: https://\(places.retired)
          credential: demo\(hasLogin ? entry : "")
      intercept: {ca: memory, publish: \(folder.published)}  # for https:// URLs
      credentials:
        demo:
          oauth2:
            grant: client_credentials
            token_url: https://\(places.tokenServer)/token
            client_id: \(Self.clientID)
            client_secret: {file: client_secret}
        camera:
          digest:
            username: \(Self.cameraUser)
            password: {file: camera_password}
            algorithms: [SHA-256]
        store:
          sigv4:
            service: \(ObjectStore.service)
            region: \(ObjectStore.region)
            access_key_id: \(Self.storeKeyID)
            secret_access_key: {file: aws_key}\(hasLogin ? credential : "")
      trust:
        default:
          - default: {ca_file: ca.pem, system_roots: false}
          - revocation: {methods: [ocsp], responder: "http://\(places.responder)/"}

      """
    self.folder = folder
    try folder.write(Array(text.utf8), to: DemoFolder.configuration)
    try folder.write(authority, to: "ca.pem")
    try folder.write(Array(secrets.client.utf8), to: "client_secret")
    try folder.write(Array(secrets.camera.utf8), to: "camera_password")
    try folder.write(Array(secrets.store.utf8), to: "aws_key")
    try folder.write(Array(secrets.secondClient.utf8), to: "client_password")
    secondPassword = secrets.secondClient
  }

  func read() -> LoadedConfiguration {
    ConfigurationFile.read(text: Array(text.utf8), name: "demo", folder: folder.path, environment: [:], system: .system)
  }
}
