import CSystem
import DemoServers
import Dispatch
import EventIO
import Operations
import Settings
import Synchronization
import TLS

/// An API, a token server, an OCSP responder and the proxy, in this process and on free ports of 127.0.0.1.
final class DemoWorld: Sendable {
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Seconds; short, so that something happens.
  static let tokenLifetime = 5

  let narrator = DemoNarrator()
  let configuration: DemoConfiguration
  let proxy: Address
  private let service: Service
  /// Of the demo servers and the tiny client; the proxy's loops are its own.
  private let loop = LoopExecutor()

  init() throws {
    guard let anyPort = Address(literal: "127.0.0.1", port: 0) else { throw Failure(description: "no loopback") }
    let authority = try DemoAuthority(names: ["localhost", "127.0.0.1"])
    let sockets = Sockets(
      api: try ListeningSocket(binding: anyPort), tokenServer: try ListeningSocket(binding: anyPort),
      retired: try ListeningSocket(binding: anyPort), responder: try ListeningSocket(binding: anyPort))
    let secret = try TokenBook.randomText()
    configuration = DemoConfiguration(sockets.places, authority: authority.pem, clientSecret: secret)
    let loaded = configuration.read()
    guard let settings = loaded.settings else {
      throw Failure(description: loaded.diagnostics.map { "\($0)" }.joined(separator: "\n"))
    }
    // The access log is what an operator would have; the demo reads it through a pipe and retells it.
    var ends: [Int32] = [-1, -1]
    guard csys_pipe(&ends) == 0 else { throw Failure(description: "no pipe") }
    let log = LogSettings(level: .info, format: .json, access: true, destination: .file("/dev/fd/\(ends[1])"))
    var serving = settings
    serving.log = log
    service = Service(
      threads: 1, version: AuthProxy.version, output: try LogOutput(log.destination), log: log,
      supervisor: Supervisor(environment: [:]), source: ConfigurationSource(system: configuration.system) { _ in loaded })
    try service.start(loaded, serving)
    proxy = service.addresses[0]
    loop.start()
    open(sockets, authority, secret, logEnd: ends[0])
  }

  private struct Sockets {
    let api, tokenServer, retired, responder: ListeningSocket
    var places: DemoConfiguration.Places {
      .init(api: api.address, tokenServer: tokenServer.address, retired: retired.address, responder: responder.address)
    }
  }

  private func open(_ sockets: Sockets, _ authority: DemoAuthority, _ secret: String, logEnd: Int32) {
    let narrator = narrator
    loop.call { loop in
      let book = TokenBook()
      let api = BearerAPI(book) { narrator.tell($0) }
      let tokens = TokenServer(
        book, clientID: DemoConfiguration.clientID, clientSecret: secret, lifetime: Self.tokenLifetime
      ) { narrator.tell($0) }
      let responder = OCSPResponder(authority) { narrator.tell($0) }
      do {
        try DemoServer(on: loop, socket: sockets.api, identity: authority.api.identity, responder: api)
        try DemoServer(on: loop, socket: sockets.tokenServer, identity: authority.tokenServer.identity, responder: tokens)
        try DemoServer(on: loop, socket: sockets.retired, identity: authority.retired.identity, responder: api)
        try DemoServer(on: loop, socket: sockets.responder, identity: nil, responder: responder)
      } catch {
        Terminal.error("authproxy: the demo's servers cannot serve: \(error)")
        Process.exit(ExitStatus.internalError.rawValue)
      }
      _ = DemoLogReader(logEnd, on: loop, narrator)
    }
  }

  /// Requests through the proxy, as apps would make them: all at once, each on a connection of its own. Blocks until they are answered,
  /// and the answers told of.
  /// - Parameter fields: further lines, each with its CRLF.
  func ask(_ urls: [String], fields: String = "") -> [TinyClient.Reply] {
    let wanted = narrator.endedRequests + urls.count
    let replies = Replies(count: urls.count)
    let proxy = proxy
    loop.call { loop in
      for (index, url) in urls.enumerated() {
        let host = url.dropFirst("http://".count).prefix { $0 != "/" }
        let request = "GET \(url) HTTP/1.1\r\nHost: \(host)\r\n\(fields)Connection: close\r\n\r\n"
        TinyClient(on: loop, to: proxy, request: request) { replies.set($0, at: index) }
      }
    }
    let result = replies.wait()
    // The log's lines follow the answers; they belong before what the app got.
    for _ in 0..<100 where narrator.endedRequests < wanted { usleep(10_000) }
    return result
  }
}

/// Answers on their way from a loop to a thread that waits for them.
private final class Replies: Sendable {
  private let state: Mutex<[TinyClient.Reply?]>
  private let done = DispatchSemaphore(value: 0)

  init(count: Int) { state = Mutex(Array(repeating: nil, count: count)) }

  func set(_ reply: TinyClient.Reply, at index: Int) {
    state.withLock { $0[index] = reply }
    done.signal()
  }

  func wait() -> [TinyClient.Reply] {
    for _ in 0..<state.withLock({ $0.count }) { done.wait() }
    return state.withLock { $0.compactMap { $0 } }
  }
}
