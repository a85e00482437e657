import Credentials
import Forwarding
import HTTPWire
import Routing
import Settings
import TLS
import Trust
import Upstreams

/// One `upstreams` entry, prepared for requests once; immutable. Also represents the hosts that `unlisted_hosts: forward` lets
/// through (`isUnlisted`).
public final class Entry: Sendable {
  /// Index in the snapshot's entries.
  public let index: Int
  public let settings: UpstreamSettings
  public let isUnlisted: Bool
  /// Represents the hosts that `redirects.to` of some entry lists; then it is unlisted, too.
  let isRedirected: Bool
  /// nil: every redirect is relayed.
  let redirects: RedirectRules?
  /// Redirects that the proxy follows may lead to it: its own, or those of an entry that names it.
  let isRedirectTarget: Bool
  /// nil if each host that matches is an origin of its own: below a wildcard, or unlisted.
  /// Of several the preferred one.
  let origin: Origin?
  /// nil: it has one origin, or each host is one.
  let origins: OriginList?
  /// Index of its first origin among all that the snapshot's entries name.
  let firstOrigin: Int
  let trust: TrustMaterial?
  let identity: TLSIdentity?
  /// Index in the snapshot's credentials; nil: none.
  let credential: Int?
  /// Requests bring the token that the credential exchanges.
  let takesSubject: Bool
  /// The credential is more than a fixed field: it has a `RequestSigner`.
  let isSigned: Bool
  /// Not empty if the credential authenticates connections: the entry has them to itself.
  let account: String
  /// How the heads are rewritten, by the match that a request came by.
  let rules: [ForwardingRules]
  let timeouts: Deadlines
  /// nil: nothing of it is stored.
  let cache: EntryCache?
  /// Its origins may be spoken to over HTTP/2.
  let offersHTTP2: Bool

  var name: String { settings.name }
  /// In the order of preference; empty if each host that matches is an origin of its own.
  var writtenOrigins: [Origin] { origins?.origins ?? (origin.map { [$0] } ?? []) }

  init(
    index: Int, settings: UpstreamSettings, isUnlisted: Bool = false, isRedirected: Bool = false,
    redirects: RedirectRules? = nil, isRedirectTarget: Bool = false, origin: Origin?, origins: OriginList? = nil,
    firstOrigin: Int = 0, trust: TrustMaterial?,
    identity: TLSIdentity?, credential: Int?, takesSubject: Bool = false, isSigned: Bool = false, account: String = "",
    rules: [ForwardingRules]
  ) {
    self.index = index
    self.settings = settings
    self.isUnlisted = isUnlisted
    self.isRedirected = isRedirected
    self.redirects = redirects
    self.isRedirectTarget = isRedirectTarget
    self.origin = origin
    self.origins = origins
    self.firstOrigin = firstOrigin
    self.trust = trust
    self.identity = identity
    self.credential = credential
    self.takesSubject = takesSubject
    self.isSigned = isSigned
    self.account = account
    self.rules = rules
    timeouts = Deadlines(settings.timeouts)
    offersHTTP2 = settings.httpVersion != .http1 && account.isEmpty
    // Each app has a token of its own here.
    cache = takesSubject ? nil : settings.cache.map { EntryCache(settings, $0, rules.first) }
  }
}

extension Entry {
  /// For hosts without an entry: no credential, and trust and ways as for all.
  convenience init(
    forHostsOf settings: Settings, index: Int, isRedirected: Bool = false, trust: TrustMaterial, name: ProxyName
  ) {
    let upstream = UpstreamSettings(
      name: isRedirected ? "redirected" : "unlisted", match: .init(host: "", isWildcard: true),
      origin: .init(scheme: .http, host: "", port: 0), clientAuthorization: .keep, timeouts: settings.timeouts)
    self.init(
      index: index, settings: upstream, isUnlisted: true, isRedirected: isRedirected, origin: nil, trust: trust, identity: nil,
      credential: nil, rules: [ForwardingRules(upstream, upstream.match, isUnlisted: true, credential: nil, name: name)])
  }
}

extension ForwardingRules {
  /// - Parameter credential: the entry's; nil: it has none.
  convenience init(
    _ settings: UpstreamSettings, _ match: UpstreamSettings.Match, isUnlisted: Bool = false, credential: CredentialPolicy?,
    name: ProxyName
  ) {
    let (scheme, port): (String, UInt16) = match.scheme == .https ? ("https://", 443) : ("http://", 80)
    let appCredential: AppCredential =
      switch settings.clientAuthorization {
      case .replace: .replace
      case .keep: .keep
      case .reject: .reject
      }
    let rewrite = settings.rewrite
    let changesPath = settings.stripsPrefix || !settings.origin.path.isEmpty
    self.init(
      name: name, credentialField: credential?.fieldName, moreFields: credential?.moreFields ?? [],
      appCredential: appCredential, credentialForm: credential?.form ?? .field,
      target: credential?.targetForm.map {
        TargetCredential(
          $0, originPath: settings.origin.path.utf8.count, appPath: changesPath ? match.pathPrefix.utf8.count : 0)
      }, keepsHost: settings.hostHeader == .app,
      decompresses: settings.decompress, dropsUpgrade: settings.httpVersion(with: credential) == .http2,
      rewrite: Rewrite(location: rewrite.location, link: rewrite.link, secureCookies: rewrite.secureCookies),
      rewriteTo: scheme
        + (match.isWildcard ? "" : Authority.text(host: match.host, port: match.port ?? port, defaultPort: port)),
      rewritesURLs: !isUnlisted,
      origins: settings.otherOrigins.isEmpty ? [] : settings.origins.map { OriginAuthority($0) },
      paths: changesPath ? PathExchange(match: match.pathPrefix, origin: settings.origin.path) : nil,
      requestHeaders: HeaderRules(settings.requestHeaders), responseHeaders: HeaderRules(settings.responseHeaders),
      tellsCacheStatus: settings.cache != nil)
  }
}

extension OriginAuthority {
  fileprivate init(_ origin: UpstreamSettings.Origin) {
    self.init(isTLS: origin.scheme == .https, host: origin.messageHost, port: origin.messagePort)
  }
}

extension HeaderRules {
  /// nil: there are none.
  fileprivate convenience init?(_ settings: HeaderRuleSettings) {
    if settings.isEmpty { return nil }
    self.init(remove: settings.remove, set: settings.set.map { ($0.name, $0.value.texts) })
  }
}
