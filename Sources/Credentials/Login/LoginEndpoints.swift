/// The endpoints of a login or logout: explicit ones of the configuration first, then discovered ones.
struct LoginEndpoints {
  let policy: OAuth2Policy
  var metadata: ServerMetadata?

  func explicit(_ endpoint: ServerMetadata.Endpoint) -> String? {
    switch endpoint {
    case .token: if case .token(let url) = policy.endpoint { url } else { nil }
    case .authorization: policy.endpoints.authorization
    case .deviceAuthorization: policy.endpoints.deviceAuthorization
    case .revocation: policy.endpoints.revocation
    case .pushedAuthorization: nil
    }
  }

  /// nil: neither the configuration nor the server names it.
  func url(_ endpoint: ServerMetadata.Endpoint) throws(LoginEnd) -> String? {
    if let url = explicit(endpoint) { return url }
    do throws(Discovery.Failure) {
      return try metadata?.url(of: endpoint, withCertificate: hasCertificate)
    } catch { throw LoginEnd(error) }
  }

  private var hasCertificate: Bool { policy.clientCertificate != nil }

  /// What client assertions name as their audience, whichever endpoint gets them (RFC 9126 section 2).
  /// - Parameter fallback: if nobody names the token endpoint.
  func audience(or fallback: String) throws(LoginEnd) -> String {
    if let url = explicit(.token) { return url }
    do throws(Discovery.Failure) {
      return try metadata?.audience(withCertificate: hasCertificate) ?? fallback
    } catch { throw LoginEnd(error) }
  }

  func required(_ endpoint: ServerMetadata.Endpoint) throws(LoginEnd) -> String {
    guard let url = try url(endpoint) else { throw Self.missing(endpoint) }
    return url
  }

  /// Whether there is one, usable or not.
  func names(_ endpoint: ServerMetadata.Endpoint) -> Bool {
    explicit(endpoint) != nil || metadata?.names(endpoint, withCertificate: hasCertificate) ?? false
  }

  /// The search for those that the configuration does not name; nil if there is nothing to search, or nowhere.
  func search(needed: Set<ServerMetadata.Endpoint>, wanted: Set<ServerMetadata.Endpoint> = []) -> MetadataSearch? {
    guard let issuer = policy.issuer else { return nil }
    let needed = needed.filter { explicit($0) == nil }
    let wanted = wanted.filter { explicit($0) == nil }
    return MetadataSearch(issuer: issuer, needed: needed, wanted: wanted, withCertificate: hasCertificate)
  }

  static func missing(_ endpoint: ServerMetadata.Endpoint) -> LoginEnd {
    let key =
      switch endpoint {
      case .token: "token_url instead of issuer"
      case .authorization: "authorization_url"
      case .deviceAuthorization: "device_authorization_url"
      case .revocation: "revocation_url"
      case .pushedAuthorization: "another issuer"
      }
    return LoginEnd(.configuration, "the server's metadata has no \(endpoint.rawValue); configure \(key)")
  }
}
