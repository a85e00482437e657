import CSystem
import DemoServers
import EventIO
import HTTPWire
import Operations
import Settings
import SmallHTTP
import TLS

/// An API over both versions of HTTP, a camera, a store, a token server, a login server, an OCSP responder and the proxy, in this process and on free ports of 127.0.0.1.
final class DemoWorld: Sendable {
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Seconds; short, so that tokens expire during the demo.
  static let tokenLifetime = 5
  /// Seconds, of the tokens of people.
  static let loginTokenLifetime = 60
  /// Seconds, of the camera's nonces.
  static let nonceLifetime = 5

  let narrator = DemoNarrator()
  let configuration: DemoConfiguration
  let folder: DemoFolder
  let proxy: Address
  /// Of the dashboard.
  let admin: Address?
  private let service: Service
  /// Runs the demo's servers and the tour's requests; the proxy has its own loops.
  private let loop = LoopExecutor()

  /// - Parameters:
  ///   - folder: for the configuration and what is published; the caller removes it.
  ///   - hasLogin: with a credential to which a person logs in.
  init(_ folder: DemoFolder, hasLogin: Bool) throws {
    guard let anyPort = Address(literal: "127.0.0.1", port: 0) else { throw Failure(description: "no loopback") }
    let authority = try DemoAuthority(names: ["localhost", "127.0.0.1"])
    let sockets = Sockets(
      api: try ListeningSocket(binding: anyPort), events: try ListeningSocket(binding: anyPort),
      camera: try ListeningSocket(binding: anyPort),
      store: try ListeningSocket(binding: anyPort), tokenServer: try ListeningSocket(binding: anyPort),
      loginServer: try ListeningSocket(binding: anyPort),
      retired: try ListeningSocket(binding: anyPort), responder: try ListeningSocket(binding: anyPort))
    let secrets = try DemoConfiguration.Secrets()
    self.folder = folder
    configuration = try DemoConfiguration(
      sockets.places, authority: authority.pem, secrets, in: folder, hasLogin: hasLogin)
    let loaded = configuration.read()
    guard let settings = loaded.settings else {
      throw Failure(description: loaded.diagnostics.map { "\($0)" }.joined(separator: "\n"))
    }
    // The demo reads the ordinary access log through a pipe, and prints it in other words.
    var ends: [Int32] = [-1, -1]
    guard csys_pipe(&ends) == 0 else { throw Failure(description: "no pipe") }
    let log = LogSettings(level: .info, format: .json, access: true, destination: .file("/dev/fd/\(ends[1])"))
    var serving = settings
    serving.log = log
    service = Service(
      threads: 1, version: AuthProxy.version, output: try LogOutput(log.destination), log: log,
      supervisor: Supervisor(environment: [:]), source: ConfigurationSource { _ in loaded })
    try service.start(loaded, serving)
    proxy = service.addresses[0]
    admin = service.adminAddress
    loop.start()
    open(sockets, authority, secrets, logEnd: ends[0])
  }

  private struct Sockets {
    let api, events, camera, store, tokenServer, loginServer, retired, responder: ListeningSocket
    var places: DemoConfiguration.Places {
      .init(
        api: api.address, events: events.address, camera: camera.address, store: store.address,
        tokenServer: tokenServer.address,
        loginServer: loginServer.address, retired: retired.address, responder: responder.address)
    }
  }

  private func open(_ sockets: Sockets, _ authority: DemoAuthority, _ secrets: DemoConfiguration.Secrets, logEnd: Int32) {
    let narrator = narrator
    loop.call { loop in
      let book = TokenBook()
      let api = BearerAPI(book) { narrator.tell($0) }
      let tokens = TokenServer(
        book, clientID: DemoConfiguration.clientID, clientSecret: secrets.client, lifetime: Self.tokenLifetime
      ) { narrator.tell($0) }
      let camera = DigestCamera(
        user: DemoConfiguration.cameraUser, password: secrets.camera, lifetime: Self.nonceLifetime
      ) { narrator.tell($0) }
      let store = ObjectStore(keyID: DemoConfiguration.storeKeyID, secret: secrets.store) { narrator.tell($0) }
      let responder = OCSPResponder(authority) { narrator.tell($0) }
      do {
        let logins = try LoginServer(
          book, issuer: "http://\(sockets.loginServer.address)", clientID: DemoConfiguration.loginClientID,
          lifetime: Self.loginTokenLifetime
        ) { narrator.tell($0) }
        // The pages are in the clear, as browsers do not know the demo's CA.
        try logins.serve(on: loop, socket: sockets.loginServer, identity: nil)
        try api.serve(on: loop, socket: sockets.api, identity: authority.api.identity)
        try api.serveMultiplexed(on: loop, socket: sockets.events, identity: authority.api.identity) { narrator.tell($0) }
        try camera.serve(on: loop, socket: sockets.camera, identity: authority.api.identity)
        try store.serve(on: loop, socket: sockets.store, identity: authority.api.identity)
        try tokens.serve(on: loop, socket: sockets.tokenServer, identity: authority.tokenServer.identity)
        try api.serve(on: loop, socket: sockets.retired, identity: authority.retired.identity)
        try responder.serve(on: loop, socket: sockets.responder, identity: nil)
      } catch {
        Terminal.error("authproxy: the demo's servers cannot serve: \(error)")
        Process.exit(ExitStatus.internalError.rawValue)
      }
      _ = DemoLogReader(logEnd, on: loop, narrator)
    }
  }

  /// Sends requests through the proxy, all at once, each on its own connection. Blocks until they are answered and the narrator
  /// has printed their log lines.
  /// - Parameter body: nil: they are GETs.
  func ask(
    _ urls: [String], fields: [(name: String, value: String)] = [], sending body: HTTPClient.Body? = nil
  ) -> [HTTPClient.Reply] {
    let wanted = narrator.endedRequests + urls.count
    let proxy = proxy
    let replies = urls.map { url in
      let reply = Handover<Result<HTTPClient.Reply, HTTPClient.Failure>>()
      let host = (try? HTTPURL(url))?.authority ?? ""
      loop.call { loop in
        HTTPClient(
          on: loop, to: proxy, getting: url, host: host, fields: fields, sending: body, milliseconds: 20_000
        ) { reply.put($0) }
      }
      return reply
    }
    let result = replies.map { reply in
      switch reply.take() {
      case .success(let reply): reply
      case .failure(let failure): HTTPClient.Reply(status: 0, body: Array(failure.description.utf8))
      }
    }
    // The log's lines come after the answers, but the demo prints them first.
    for _ in 0..<100 where narrator.endedRequests < wanted { usleep(10_000) }
    return result
  }
}
