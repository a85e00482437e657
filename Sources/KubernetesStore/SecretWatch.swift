import EventIO
import Fetch

/// One watch of the object, from its first line to its end. Confined to its loop.
final class SecretWatch: EventHandler {
  enum Event {
    /// The server reports what changes from now on.
    case began
    case object(SecretObject)
    /// The last event. `version`: where the next watch goes on; nil: the object must be read again.
    case ended(version: String?, KubernetesFailure?)
  }

  /// Seconds after which the server ends it, and it is asked for again: half of it, and as much by chance.
  private static let longest = 600
  /// Milliseconds more that are waited for the server's end.
  private static let grace = 30_000

  private let client: APIClient
  private unowned let loop: EventLoop
  private let report: (SecretWatch, Event) -> Void
  private var version: String
  private var exchange: APIExchange?
  private var budget = WatchBudget()
  private var hasBegun = false

  /// - Parameter report: never called before `start` returns, unless the token cannot be read; not after `cancel`.
  init(_ client: APIClient, from version: String, on loop: EventLoop, report: @escaping (SecretWatch, Event) -> Void) {
    self.client = client
    self.version = version
    self.loop = loop
    self.report = report
  }

  /// - Parameter chance: from 0 up to 1.
  func start(chance: Double) {
    let seconds = Self.longest / 2 + Int(Double(Self.longest / 2) * chance)
    loop.arm(self, afterMilliseconds: client.settings.timeout)
    let stream = FetchStream(
      lineLimit: SecretObject.maximumSize, began: { [unowned self] in began() }, line: { [unowned self] in read($0) })
    let request = APIRequest.watch(client.settings, from: version, seconds: seconds)
    exchange = client.send(request, timeout: seconds * 1_000 + Self.grace, stream: stream) { [unowned self] result in
      switch result {
      case .success: end(nil)
      case .failure(.expired): end(nil, mayGoOn: false)
      // It began, so the server was there: this is how connections end.
      case .failure(.unreachable) where hasBegun, .failure(.timedOut) where hasBegun: end(nil)
      case .failure(.malformed("is not HTTP")) where hasBegun: end(nil)
      case .failure(let failure): end(failure)
      }
    }
  }

  func cancel() {
    loop.forget(self)
    exchange?.cancel()
    exchange = nil
  }

  /// The server has not even begun.
  override func expired(on loop: EventLoop) { end(.timedOut(milliseconds: client.settings.timeout)) }

  private func began() {
    hasBegun = true
    loop.forget(self)
    report(self, .began)
  }

  private func read(_ line: [UInt8]) {
    guard budget.take(bytes: line.count, now: loop.now) else { return end(.flood) }
    guard !line.isEmpty else { return }
    let settings = client.settings
    switch WatchEvent.parse(line, name: settings.secret, namespace: settings.namespace) {
    case .object(let object):
      version = object.version
      report(self, .object(object))
    case .bookmark(let version): self.version = version
    case .deleted: end(.absent(object: settings.object))
    case .expired: end(nil, mayGoOn: false)
    case .failed(let failure): end(failure)
    }
  }

  private func end(_ failure: KubernetesFailure?, mayGoOn: Bool = true) {
    cancel()
    report(self, .ended(version: mayGoOn ? version : nil, failure))
  }
}
