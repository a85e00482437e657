import EventIO
import Fetch
import HTTPWire
import Streams

/// A listening socket that only this process finds and may use, behind which the way of one fetch lies. The loop's registration holds
/// it until it is closed.
final class Passage: EventHandler, FetchPassage {
  let name: String
  let url: HTTPURL
  let judgesParent: Bool
  private var target: Dial.Target
  private let mayRepeat: Bool
  /// Nanoseconds for each way.
  private let limit: Int64
  private unowned let upstreams: Upstreams
  private var descriptor: Int32
  private var token: Token?
  private var crossings: [Crossing] = []
  private(set) var failure: String?

  /// Milliseconds until a connection that found no descriptor is accepted.
  private static let shortagePause = 100

  init(to url: HTTPURL, by route: Route, for fetch: HTTPFetch, on upstreams: Upstreams) {
    self.url = url
    judgesParent = fetch.judgesParent
    mayRepeat = fetch.sharesConnections
    target = Dial.Target(
      host: url.host, port: url.effectivePort, checksAddresses: fetch.permits != nil, route: route, isClear: !url.isHTTPS)
    limit = Int64(fetch.timeout) * 1_000_000
    self.upstreams = upstreams
    name = "authproxy-" + (0..<4).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    descriptor = Socket.abstractListener(name)
    super.init()
    token = descriptor < 0 ? nil : upstreams.loop.register(descriptor, self)
    // libcurl finds nobody there, and the fetch fails with this.
    if token == nil { failure = "no socket for the way" }
  }

  deinit { if descriptor >= 0 { Socket.close(descriptor) } }

  var isOpen: Bool { token != nil }

  func close() {
    guard let token else { return }
    self.token = nil
    upstreams.loop.retire(token)
    upstreams.loop.forget(self)
    Socket.close(descriptor)
    descriptor = -1
    for crossing in crossings { crossing.close() }
    crossings = []
  }

  /// The configuration has changed. What waits at a way that it has no more takes the new one.
  func take(_ route: Route) {
    guard route.digest != target.route?.digest else { return }
    target.route = route
    for crossing in crossings { crossing.take(target) }
  }

  func timeUp() -> String? {
    for crossing in crossings { crossing.timeUp() }
    return failure
  }

  override func expired(on loop: EventLoop) { ready(0, on: loop) }

  override func ready(_ events: UInt32, on loop: EventLoop) {
    while token != nil {
      let accepted = Socket.accept(descriptor)
      guard accepted >= 0 else { return wait(after: -accepted) }
      guard Socket.isOfThisProcess(accepted) else {
        Socket.close(accepted)
        continue
      }
      failure = nil
      let crossing = Crossing(ByteStream(descriptor: accepted), target, mayRepeat: mayRepeat, on: upstreams) {
        [weak self] error in self?.failure = error
      }
      crossings.append(crossing)
      crossing.start(within: limit)
    }
  }

  /// The listener says nothing more of a connection that it has announced.
  private func wait(after error: Int32) {
    guard Socket.isShortage(error) else { return }
    failure = UpstreamError.outOfDescriptors.text
    upstreams.ranOutOfDescriptors()
    upstreams.loop.arm(self, afterMilliseconds: Self.shortagePause)
  }
}
