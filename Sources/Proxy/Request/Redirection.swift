import Forwarding
import HTTPWire
import Routing

/// What a request keeps because its entry has the proxy follow redirects, and how far it has followed them.
final class Redirection {
  /// The app's head, whole: each hop's is made from it.
  let head: [UInt8]
  /// The app asked it. Its rules hold for all hops, and its cookies alone reach the app. The request keeps the snapshot, which owns it.
  unowned(unsafe) let entry: Entry
  let rules: RedirectRules
  /// What the app asked for.
  let first: RoutePlace
  let port: UInt16
  let isHTTPS: Bool
  /// The app has sent Authorization.
  let isAuthorized: Bool
  /// Of the app's body.
  let framing: BodyFraming
  let client: ClientIdentity
  /// The host that the app asked for, as `normalisedHost` gives it.
  let host: String
  /// Scheme and authority of what the app asked for, as in the field Origin.
  let origin: String
  /// What origins were asked for; nil before the first redirect.
  private(set) var asked: AskedTargets?
  /// The entry that is asked now; nil: a host is.
  private(set) var place: RoutePlace?
  /// The authority that an app would have asked; nil: no redirect was followed yet.
  private(set) var authority: String?
  /// The path that an app would have asked for, without its query.
  private(set) var path = ""
  /// Another entry or host was asked since: the app's own credentials are not sent any more, wherever a redirect leads.
  private(set) var hasLeft = false
  /// Trailers that do not go on, as fields of these names do not.
  var withheld: [[UInt8]] = []
  /// Of the hops so far.
  var shown = ShownCredentials()
  /// The answer that the app gets is not of the host that it asked.
  var isElsewhere = false
  /// The app's own credential took the place of its entry's.
  var usesAppCredential = false
  /// What the redirects so far leave of the last answer's word on caching.
  private(set) var caching = RedirectedCaching.asSaid
  /// Some redirect has taken the content away.
  var hasDroppedContent = false
  /// Lines for the app, of answers of the app's entry.
  private(set) var cookies: [UInt8] = []
  /// Why the answer that the app gets was not followed.
  var refusal: RedirectRefusal?
  /// The credential of the hop that comes next is needed.
  var needsCredential = false
  /// What the store has for the hop that comes next.
  var found = Request.LookUp.ask
  /// Where the last hop's connection came from, until it is given back.
  var left: Request.Way?
  /// What the last hop has to do with the store, until that is over.
  var leftCache: CacheState?

  init(
    _ head: UnsafeRawBufferPointer, from entry: Entry, at place: RoutePlace, _ rules: RedirectRules, host: String,
    port: UInt16, isHTTPS: Bool, isAuthorized: Bool, framing: BodyFraming, client: ClientIdentity
  ) {
    first = place
    self.port = port
    self.isHTTPS = isHTTPS
    self.isAuthorized = isAuthorized
    origin = HTTPURL.origin(isHTTPS: isHTTPS, host: host, port: port)
    self.framing = framing
    self.head = Array(head)
    self.entry = entry
    self.place = place
    self.rules = rules
    self.host = host
    self.client = client
  }

  /// Whether an entry's origin for a URL is the one that the app asked. Below a wildcard, each host is an origin of its own.
  /// - Parameter first: what was asked for first.
  func isOwn(_ entry: Entry, _ url: HTTPURL, first: HTTPURL) -> Bool {
    entry === self.entry && (entry.origin != nil || url.isSameHost(first))
  }

  /// What the app's entry takes out does not reach a host without an entry either, which has no rules of its own.
  func headerRules(at target: Entry) -> HeaderRules? { (target.isRedirected ? entry : target).rules.first?.requestHeaders }

  /// Of the present hop.
  var method: String? { asked?.last.method }
  var count: Int { max((asked?.count ?? 0) - 1, 0) }

  /// - Parameters:
  ///   - asked: with the target.
  ///   - place: nil: a host.
  ///   - url: as an app would ask for it.
  ///   - leaves: another entry is asked than the app's, or another host of it.
  ///   - caching: of the redirect.
  func follow(
    _ asked: AskedTargets, at place: RoutePlace?, _ url: HTTPURL, leaves: Bool, _ caching: RedirectedCaching, _ cookies: [UInt8]
  ) {
    self.asked = asked
    self.caching = max(self.caching, caching)
    self.place = place
    authority = Authority.text(host: url.host, port: url.effectivePort, defaultPort: url.isHTTPS ? 443 : 80)
    path = String(url.pathAndQuery.prefix { $0 != "?" })
    if leaves { hasLeft = true }
    self.cookies += cookies
  }

  /// Of several origins, another may have answered than the redirect named.
  func note(_ way: Request.Way) {
    guard way.search != nil, let last = asked?.last.url else { return }
    let origin = way.pool.origin.authority
    let text = (origin.isTLS ? "https://" : "http://") + String(decoding: origin.text, as: UTF8.self)
    guard let url = try? HTTPURL(text + last.pathAndQuery) else { return }
    asked?.moveLast(to: url)
  }

  /// For Proxy-Status and the log.
  var note: String? {
    let followed = count == 1 ? "1 redirect followed" : "\(count) redirects followed"
    let last = authorityOfOrigin.map { "\(followed), last to \($0)" }
    switch (last, refusal) {
    case (let last?, let refusal?): return "\(last); \(refusal)"
    case (let last, nil): return last
    case (nil, let refusal): return refusal.map { "\($0)" }
    }
  }

  /// Of the last hop's origin; nil: no redirect was followed.
  private var authorityOfOrigin: String? {
    guard count > 0, let url = asked?.last.url else { return nil }
    return Authority.text(host: url.host, port: url.effectivePort, defaultPort: url.isHTTPS ? 443 : 80)
  }
}
