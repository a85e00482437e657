import HTTPWire

/// Which redirects of an entry's answers the proxy follows itself. They hold for all hops of a request.
public struct RedirectRules: Sendable, Hashable {
  /// Most hops of a request.
  public var limit: Int
  /// Of the app's request.
  public var methods: AllowedMethods
  /// Targets besides the entry's own origin that are asked for without a credential, over https. Each has a port.
  public var hosts: [HostPattern]
  /// Targets that are asked for with the credential of their entry: indices in the configuration's entries.
  public var entries: [Int]

  public init(limit: Int, methods: AllowedMethods, hosts: [HostPattern] = [], entries: [Int] = []) {
    self.limit = limit
    self.methods = methods
    self.hosts = hosts
    self.entries = entries
  }
}

/// Why a redirect is relayed. Holds nothing secret.
public enum RedirectRefusal: Error, Sendable, Hashable {
  case tooMany(limit: Int)
  case noLocation
  case repeatedLocation
  case unreadable
  case userinfo
  /// From https to http.
  case insecure
  case metBefore
  /// 301 and 302 say nothing certain about other methods than GET, HEAD and POST.
  case method
  /// The target is none that the entry's rules name.
  case notListed(host: String)
  /// The target is under the origin of an entry, but this request may not go there.
  case notServed(entry: String)
  /// A reload has taken out what would serve the target, or changed it.
  case withdrawn
  /// The body was not kept, so it cannot be sent again.
  case bodyNotKept
  /// The app still sends its body.
  case bodyOnItsWay
  /// The target holds the credential of the entry that redirects.
  case secretInTarget
  /// The app's own credential, which stays behind, took the place of the one that the target would get.
  case appCredential
  /// The cookies of the answers would make the head too large.
  case cookies
}

extension RedirectRefusal: CustomStringConvertible {
  public var description: String {
    let why =
      switch self {
      case .tooMany(let limit): "\(limit) \(limit == 1 ? "was" : "were") followed before it"
      case .noLocation: "it has no Location"
      case .repeatedLocation: "it has several Locations"
      case .unreadable: "its Location is no URL that can be asked for"
      case .userinfo: "its Location has userinfo"
      case .insecure: "it leads from https to http"
      case .metBefore: "it leads to what was asked for before"
      case .method: "its status is for GET, HEAD and POST"
      case .notListed(let host): "neither the entry's origin nor its 'redirects.to' has \(host)"
      case .notServed(let entry): "entry \(entry) does not serve this request there"
      case .withdrawn: "a reload has changed what serves its target"
      case .bodyNotKept: "the body was too large to be kept"
      case .bodyOnItsWay: "the body had not arrived"
      case .secretInTarget: "its Location holds the credential"
      case .appCredential: "the app's own credential does not go on, and the entry's was not asked for"
      case .cookies: "the cookies on the way are too large"
      }
    return "redirect relayed: \(why)"
  }
}
