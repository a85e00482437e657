import CSystem
import DemoServers
import Dispatch
import EventIO
import Operations
import Settings
import Synchronization
import TLS

/// An API, a token server and the proxy, in this process and on free ports of 127.0.0.1.
final class DemoWorld: Sendable {
  struct Failure: Error, CustomStringConvertible { let description: String }

  let narrator = DemoNarrator()
  let configuration: DemoConfiguration
  let proxy: Address
  private let service: Service
  /// Of the demo servers and the tiny client; the proxy's loops are its own.
  private let loop = LoopExecutor()

  init() throws {
    guard let anyPort = Address(literal: "127.0.0.1", port: 0) else { throw Failure(description: "no loopback") }
    let authority = try DemoAuthority()
    let identity = try authority.server(["localhost", "127.0.0.1"])
    let socket = try ListeningSocket(binding: anyPort)
    let token = try TokenBook.randomText()
    configuration = DemoConfiguration(api: socket.address, authority: authority.pem, token: token)
    let loaded = configuration.read()
    guard let settings = loaded.settings else {
      throw Failure(description: loaded.diagnostics.map { "\($0)" }.joined(separator: "\n"))
    }
    // The access log is what an operator would have; the demo reads it through a pipe and retells it.
    var ends: [Int32] = [-1, -1]
    guard csys_pipe(&ends) == 0 else { throw Failure(description: "no pipe") }
    let log = LogSettings(level: .info, format: .text, access: true, destination: .file("/dev/fd/\(ends[1])"))
    var serving = settings
    serving.log = log
    service = Service(
      threads: 1, version: AuthProxy.version, output: try LogOutput(log.destination), log: log,
      supervisor: Supervisor(environment: [:]), source: ConfigurationSource { _ in loaded })
    proxy = try service.start(loaded, serving)[0]
    loop.start()
    try open(socket, identity, token, logEnd: ends[0])
  }

  private func open(_ socket: ListeningSocket, _ identity: TLSIdentity, _ token: String, logEnd: Int32) throws {
    let narrator = narrator
    loop.call { loop in
      let book = TokenBook()
      book.add(token)
      let api = BearerAPI(book) { narrator.tell($0) }
      do { _ = try TLSServer(on: loop, socket: socket, identity: identity, responder: api) } catch {
        Terminal.error("authproxy: the demo's API cannot serve: \(error)")
        Process.exit()
      }
      _ = DemoLogReader(logEnd, on: loop, narrator)
    }
  }

  /// One request through the proxy, as an app would make it. Blocks until it is answered and told.
  /// - Parameter fields: further lines, each with its CRLF.
  func ask(_ url: String, fields: String = "") -> TinyClient.Reply { ask([url], fields: fields)[0] }

  /// Several at once, each on a connection of its own.
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
