import HTTPWire

/// An upstream entry's rules for forwarding heads. Made once with the configuration, shared by all loops.
public final class ForwardingRules: Sendable {
  /// What happens to a field with the credential's name that the app sent.
  public enum AppCredential: Sendable { case replace, keep, reject }

  /// What an app's own credential looks like.
  public enum CredentialForm: Sendable {
    /// A field with the credential's name.
    case field
    /// An AWS signature, in Authorization or in the query.
    case awsSignature
    /// A parameter of the query with the credential's name: `target`.
    case parameter
    /// The first segment of the path: `target`.
    case segment
  }

  /// What to rewrite in responses, so that the app's next request uses the proxy.
  public struct Rewrite: Sendable {
    /// Location and Content-Location.
    public var location: Bool
    public var link: Bool
    /// Removes `Secure` from cookies.
    public var secureCookies: Bool
    public init(location: Bool = true, link: Bool = true, secureCookies: Bool = false) {
      self.location = location
      self.link = link
      self.secureCookies = secureCookies
    }
  }

  public let name: ProxyName
  /// Name of the field that the entry's credential sets; empty without a credential.
  let credentialField: [UInt8]
  /// All fields that it writes, that one first. The app's own fields of these names, and its trailers, do not go on.
  public let credentialFields: [[UInt8]]
  /// It writes more than one field.
  let hasMoreFields: Bool
  let appCredential: AppCredential
  let credentialForm: CredentialForm
  /// The credential is a part of the target; nil: it is in fields.
  public let target: TargetCredential?
  let hasCredential: Bool
  /// Sends the app's authority in Host, instead of the origin's.
  public let keepsHost: Bool
  let decompresses: Bool
  /// No Upgrade goes on: the origin is asked over HTTP/2, which has none (RFC 9110 section 7.8, RFC 9113 section 8.6).
  let dropsUpgrade: Bool
  let rewrite: Rewrite
  /// Whether to rewrite URLs below the origin at all.
  let rewritesURLs: Bool
  /// All of an entry that has several; empty: it has one. URLs below any of them are the entry's.
  let origins: [OriginAuthority]
  /// nil: paths go on as they come.
  public let paths: PathExchange?
  /// nil: none.
  public let requestHeaders, responseHeaders: HeaderRules?
  /// Some trailers of answers do not go on, beyond those that never do.
  public let marksTrailers: Bool
  /// The proxy says in Cache-Status what its store did.
  public let tellsCacheStatus: Bool
  /// Replaces the origin's `scheme://authority`; ends with the slashes where the authority that the app requested follows.
  let rewriteTo: [UInt8]
  /// No field that HPACK's table may keep is the credential's.
  public let mayIndexFields: Bool
  /// Those that it may keep (http2.md): none of them identifies anybody, and they are the same in many requests.
  private static let indexedFields = ["user-agent", "accept", "accept-encoding", "accept-language", "content-type", "via"]

  /// - Parameters:
  ///   - credentialField: nil: the entry has no credential, or one in the target.
  ///   - moreFields: others that the credential writes.
  ///   - rewriteTo: `http://host[:port]`, or `https://`. Below a wildcard, which has no single host, `http://` or `https://` alone:
  ///     then the requested authority follows. nil: `http://`.
  ///   - rewritesURLs: false for hosts that no entry lists.
  ///   - origins: all of an entry that has several.
  ///   - tellsCacheStatus: the entry has a cache.
  public init(
    name: ProxyName, credentialField: [UInt8]?, moreFields: [[UInt8]] = [], appCredential: AppCredential = .replace,
    credentialForm: CredentialForm = .field, target: TargetCredential? = nil, keepsHost: Bool = false,
    decompresses: Bool = false, dropsUpgrade: Bool = false, rewrite: Rewrite = Rewrite(), rewriteTo: String?,
    rewritesURLs: Bool = true,
    origins: [OriginAuthority] = [], paths: PathExchange? = nil, requestHeaders: HeaderRules? = nil,
    responseHeaders: HeaderRules? = nil,
    tellsCacheStatus: Bool = false
  ) {
    self.name = name
    self.credentialField = credentialField ?? []
    hasMoreFields = !moreFields.isEmpty
    let written = credentialField.map { [$0] + moreFields } ?? []
    credentialFields = written
    mayIndexFields = !written.contains { Self.indexedFields.contains(String(decoding: $0, as: UTF8.self).lowercased()) }
    self.appCredential = appCredential
    self.credentialForm = target?.credentialForm ?? credentialForm
    self.target = target
    hasCredential = credentialField != nil || target != nil
    self.keepsHost = keepsHost
    self.decompresses = decompresses
    self.dropsUpgrade = dropsUpgrade
    self.rewrite = rewrite
    self.rewritesURLs = rewritesURLs
    self.origins = origins
    self.paths = paths
    self.requestHeaders = requestHeaders
    self.responseHeaders = responseHeaders
    self.tellsCacheStatus = tellsCacheStatus
    marksTrailers = responseHeaders != nil || target != nil || paths != nil && rewritesURLs
    self.rewriteTo = Array((rewriteTo ?? "http://").utf8)
  }
}
