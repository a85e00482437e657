import CSystem
import Credentials
import EventIO
import SmallHTTP

/// Receives the browser's answer on the redirect URI's address, and on no other (RFC 8252 section 7.3). Confined to its loop.
final class LoopbackListener {
  /// Bounds for what others on this machine may send. A silent connection makes room for the browser's.
  private static let limits: HTTPServer.Limits = {
    var limits = HTTPServer.Limits()
    limits.connections = 16
    limits.head = 8 << 10
    limits.body = 0
    limits.patience = 5_000
    limits.persists = false
    limits.evictsIdle = true
    return limits
  }()
  /// How often both families may fail to have the same free port.
  private static let attempts = 16

  struct Failure: Error {
    let text: String
    /// There is no such address on this machine.
    var isUnavailable = false
  }

  let port: UInt16
  private var servers: [HTTPServer] = []
  private var replies: [UInt64: HTTPServer.Reply] = [:]
  private var lastConnection: UInt64 = 0

  /// - Parameter deliver: called on the loop with each request, whatever it asks for.
  init(
    _ place: RedirectURI.Listener, on loop: EventLoop, deliver: @escaping (UInt64, CallbackRequest) -> Void
  ) throws(Failure) {
    let sockets = try Self.bind(place)
    port = sockets[0].address.port
    var limits = Self.limits
    limits.connections /= sockets.count
    servers = sockets.map { socket in
      HTTPServer(on: loop, socket: socket, limits: limits, refusal: { _, _ in ServedAnswer(.notThisLogin) }) {
        [weak self] request, reply in
        guard let self else { return }
        self.lastConnection += 1
        self.replies[self.lastConnection] = reply
        let hosts = request.fields.filter { $0.name == "host" }.map(\.value)
        deliver(
          self.lastConnection, CallbackRequest(method: request.method, target: Secret(request.target), hosts: hosts))
      }
    }
  }

  /// Whether every answer has been sent.
  var isIdle: Bool { servers.allSatisfy(\.isIdle) }

  func answer(_ connection: UInt64, _ page: BrowserPage) {
    replies.removeValue(forKey: connection)?(ServedAnswer(page))
  }

  /// Accepts no more connections.
  func stop() { for server in servers { server.stop() } }

  private static func bind(_ place: RedirectURI.Listener) throws(Failure) -> [ListeningSocket] {
    switch place.host {
    case .ipv4: return [try bind("127.0.0.1", place.port ?? 0)]
    case .ipv6: return [try bind("::1", place.port ?? 0)]
    case .localhost:
      var failure = Failure(text: "")
      for _ in 0..<attempts {
        let first = try bind("127.0.0.1", place.port ?? 0)
        do throws(Failure) { return [first, try bind("::1", first.address.port)] } catch {
          // A machine without IPv6 has no browser that tries it.
          if error.isUnavailable { return [first] }
          failure = error
        }
        if place.port != nil { break }
      }
      throw failure
    }
  }

  private static func bind(_ host: String, _ port: UInt16) throws(Failure) -> ListeningSocket {
    guard let address = Address(literal: host, port: port) else { throw Failure(text: "no address \(host)") }
    do throws(ListeningSocket.BindError) { return try ListeningSocket(binding: address) } catch {
      throw Failure(text: "\(error)", isUnavailable: error.error == EADDRNOTAVAIL || error.error == EAFNOSUPPORT)
    }
  }
}

extension ServedAnswer {
  fileprivate init(_ page: BrowserPage) {
    self.init(page.status, type: BrowserPage.contentType, fields: page.fields, body: page.body)
  }
}
