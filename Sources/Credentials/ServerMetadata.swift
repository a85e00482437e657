import JSON

/// Metadata of an authorization server: OpenID Connect Discovery 1.0 and RFC 8414.
public struct ServerMetadata: Sendable, Hashable {
  public enum Endpoint: String, Sendable, Hashable, CaseIterable {
    case token = "token_endpoint"
    case authorization = "authorization_endpoint"
    case deviceAuthorization = "device_authorization_endpoint"
    /// RFC 9126.
    case pushedAuthorization = "pushed_authorization_request_endpoint"
    /// RFC 7009.
    case revocation = "revocation_endpoint"
  }

  public let issuer: String
  private var endpoints: EndpointList
  /// `mtls_endpoint_aliases` (RFC 8705 section 5): where clients with a certificate go instead.
  private var aliases: EndpointList
  /// `code_challenge_methods_supported`; nil if the document does not say.
  public private(set) var challengeMethods: [String]?
  /// `authorization_response_iss_parameter_supported` (RFC 9207 section 3).
  public private(set) var promisesIssuer = false

  init(_ json: JSONValue, issuer: String) {
    self.issuer = issuer
    endpoints = EndpointList(json)
    aliases = EndpointList(json["mtls_endpoint_aliases"] ?? .object([]))
    // A browser goes there, without the client's certificate.
    aliases.remove(.authorization)
    if case .array(let methods)? = json["code_challenge_methods_supported"] { challengeMethods = methods.compactMap(\.string) }
    promisesIssuer = json["authorization_response_iss_parameter_supported"] == .bool(true)
  }

  /// The endpoint's URL; nil if the metadata does not name it.
  /// - Parameter withCertificate: the client presents a certificate, so aliases take precedence, and http is refused even on
  ///   loopback.
  /// - Throws: `badEndpoint` or `badAlias`. An unusable URL matters only to those who need this endpoint.
  public func url(of endpoint: Endpoint, withCertificate: Bool = false) throws(Discovery.Failure) -> String? {
    if withCertificate, aliases.names(endpoint) {
      do throws(EndpointURL.Problem) { return try aliases.url(of: endpoint, mustBeTLS: true) } catch {
        throw .badAlias(endpoint, error)
      }
    }
    do throws(EndpointURL.Problem) {
      return try endpoints.url(of: endpoint, mustBeTLS: withCertificate && endpoint != .authorization)
    } catch { throw .badEndpoint(endpoint, error) }
  }

  func hasAlias(of endpoint: Endpoint) -> Bool { aliases.names(endpoint) }

  /// What client assertions name as their audience: the token endpoint's plain URL, which servers know best, whether an alias
  /// takes precedence or not; the alias if there is no other.
  func audience(withCertificate: Bool) throws(Discovery.Failure) -> String? {
    if let plain = try? endpoints.url(of: .token, mustBeTLS: false) { return plain }
    return try url(of: .token, withCertificate: withCertificate)
  }

  /// Whether the metadata names this endpoint, usable or not.
  func names(_ endpoint: Endpoint, withCertificate: Bool = false) -> Bool {
    endpoints.names(endpoint) || (withCertificate && aliases.names(endpoint))
  }

  /// Adds what this document lacks and another one of the same issuer has. The stricter promise about `iss` counts.
  mutating func complete(from other: ServerMetadata) {
    endpoints.complete(from: other.endpoints)
    aliases.complete(from: other.aliases)
    challengeMethods = challengeMethods ?? other.challengeMethods
    promisesIssuer = promisesIssuer || other.promisesIssuer
  }
}

/// The endpoints in a JSON object.
private struct EndpointList: Sendable, Hashable {
  private var urls: [ServerMetadata.Endpoint: String] = [:]
  /// Endpoints that the document names, but to which nothing may be sent.
  private var problems: [ServerMetadata.Endpoint: EndpointURL.Problem] = [:]

  init(_ json: JSONValue) {
    for endpoint in ServerMetadata.Endpoint.allCases {
      guard let url = json[endpoint.rawValue]?.string else { continue }
      do throws(EndpointURL.Problem) {
        _ = try EndpointURL(url)
        urls[endpoint] = url
      } catch {
        problems[endpoint] = error
      }
    }
  }

  func url(of endpoint: ServerMetadata.Endpoint, mustBeTLS: Bool) throws(EndpointURL.Problem) -> String? {
    if let problem = problems[endpoint] { throw problem }
    guard let url = urls[endpoint] else { return nil }
    if mustBeTLS, try !EndpointURL(url).isHTTPS { throw .withoutCertificate }
    return url
  }

  func names(_ endpoint: ServerMetadata.Endpoint) -> Bool { urls[endpoint] != nil || problems[endpoint] != nil }

  mutating func remove(_ endpoint: ServerMetadata.Endpoint) {
    urls[endpoint] = nil
    problems[endpoint] = nil
  }

  mutating func complete(from other: EndpointList) {
    for endpoint in ServerMetadata.Endpoint.allCases where !names(endpoint) {
      urls[endpoint] = other.urls[endpoint]
      problems[endpoint] = other.problems[endpoint]
    }
  }
}
