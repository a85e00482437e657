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
  private var urls: [Endpoint: String] = [:]
  /// Endpoints that the document names, but to which nothing may be sent.
  private var problems: [Endpoint: EndpointURL.Problem] = [:]
  /// `code_challenge_methods_supported`; nil if the document does not say.
  public private(set) var challengeMethods: [String]?
  /// `authorization_response_iss_parameter_supported` (RFC 9207 section 3).
  public private(set) var promisesIssuer = false
  /// `mtls_endpoint_aliases` (RFC 8705 section 5), unchecked.
  public private(set) var aliases: JSONValue?

  init(_ json: JSONValue, issuer: String) {
    self.issuer = issuer
    for endpoint in Endpoint.allCases {
      guard let url = json[endpoint.rawValue]?.string else { continue }
      do throws(EndpointURL.Problem) {
        _ = try EndpointURL(url)
        urls[endpoint] = url
      } catch {
        problems[endpoint] = error
      }
    }
    if case .array(let methods)? = json["code_challenge_methods_supported"] { challengeMethods = methods.compactMap(\.string) }
    promisesIssuer = json["authorization_response_iss_parameter_supported"] == .bool(true)
    aliases = json["mtls_endpoint_aliases"]
  }

  /// The endpoint's URL; nil if the metadata does not name it.
  /// - Throws: `badEndpoint`. An unusable URL matters only to those who need this endpoint.
  public func url(of endpoint: Endpoint) throws(Discovery.Failure) -> String? {
    if let problem = problems[endpoint] { throw .badEndpoint(endpoint, problem) }
    return urls[endpoint]
  }

  /// Whether the metadata names this endpoint, usable or not.
  func names(_ endpoint: Endpoint) -> Bool { urls[endpoint] != nil || problems[endpoint] != nil }

  /// Adds what this document lacks and another one of the same issuer has. The stricter promise about `iss` counts.
  mutating func complete(from other: ServerMetadata) {
    for endpoint in Endpoint.allCases where !names(endpoint) {
      urls[endpoint] = other.urls[endpoint]
      problems[endpoint] = other.problems[endpoint]
    }
    challengeMethods = challengeMethods ?? other.challengeMethods
    promisesIssuer = promisesIssuer || other.promisesIssuer
    aliases = aliases ?? other.aliases
  }
}
