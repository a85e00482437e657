import HTTPWire

/// What an upstream entry makes of the heads that pass. Made once with the configuration; all loops share it.
public final class ForwardingRules: Sendable {
  /// What becomes of a field of the credential's name that the app sent itself.
  public enum AppCredential: Sendable { case replace, keep, reject }

  /// What of an answer is changed so that the app's next request comes here.
  public struct Rewrite: Sendable {
    /// Location and Content-Location.
    public var location: Bool
    public var link: Bool
    /// `Secure` is taken off cookies.
    public var secureCookies: Bool
    public init(location: Bool = true, link: Bool = true, secureCookies: Bool = false) {
      self.location = location
      self.link = link
      self.secureCookies = secureCookies
    }
  }

  public let name: ProxyName
  /// Name of the field that the entry's credential sets; empty: there is none.
  public let credentialField: [UInt8]
  let appCredential: AppCredential
  /// The app's authority is sent as Host, not the origin's.
  let keepsHost: Bool
  let decompresses: Bool
  let rewrite: Rewrite
  /// Whether URLs under the origin become others at all.
  let rewritesURLs: Bool
  /// What stands for the origin's `scheme://authority`; empty: `http://` and the authority that the app asked for.
  let rewriteTo: [UInt8]

  /// - Parameters:
  ///   - credentialField: nil: the entry has no credential.
  ///   - rewriteTo: `http://host[:port]`; nil: as below a wildcard there is no one host to come back to but the one that was asked for.
  ///   - rewritesURLs: false for hosts that no entry lists.
  public init(
    name: ProxyName, credentialField: [UInt8]?, appCredential: AppCredential = .replace, keepsHost: Bool = false,
    decompresses: Bool = false, rewrite: Rewrite = Rewrite(), rewriteTo: String?, rewritesURLs: Bool = true
  ) {
    self.name = name
    self.credentialField = credentialField ?? []
    self.appCredential = appCredential
    self.keepsHost = keepsHost
    self.decompresses = decompresses
    self.rewrite = rewrite
    self.rewritesURLs = rewritesURLs
    self.rewriteTo = Array((rewriteTo ?? "").utf8)
  }

  var hasCredential: Bool { !credentialField.isEmpty }
}
