import JSON

public enum Discovery {
  public enum Failure: Error, Sendable, Hashable {
    case badIssuer(EndpointURL.Problem)
    case tooLarge
    case notJSON
    case missing(String)
    /// RFC 8414 section 3.3: the issuers must be identical, as the document could belong to another server.
    case otherIssuer(String)
    case badEndpoint(ServerMetadata.Endpoint, EndpointURL.Problem)
    /// In `mtls_endpoint_aliases`.
    case badAlias(ServerMetadata.Endpoint, EndpointURL.Problem)
  }

  public static let maximumDocument = 262_144

  /// Possible URLs of the document, in the order to ask: OpenID Connect appends to the issuer's path, RFC 8414 section 3.1
  /// inserts its part between host and path.
  public static func documentURLs(issuer: String) throws(Failure) -> [String] {
    let url: EndpointURL
    do { url = try EndpointURL(issuer) } catch { throw .badIssuer(error) }
    guard !url.pathAndQuery.contains("?") else { throw .badIssuer(.malformed) }
    var path = url.pathAndQuery
    while path.hasSuffix("/") { path.removeLast() }
    return [
      url.origin + path + "/.well-known/openid-configuration",
      url.origin + "/.well-known/oauth-authorization-server" + path,
    ]
  }

  /// The metadata in a document, whatever endpoints it has.
  public static func read(_ document: [UInt8], issuer: String) throws(Failure) -> ServerMetadata {
    guard document.count <= maximumDocument else { throw .tooLarge }
    let json: JSONValue
    do { json = try JSONParser.parse(document) } catch { throw .notJSON }
    guard let named = json["issuer"]?.string else { throw .missing("issuer") }
    guard Array(named.utf8) == Array(issuer.utf8) else { throw .otherIssuer(LogText.bounded(named)) }
    return ServerMetadata(json, issuer: named)
  }

  /// The token endpoint in a document. A refresh needs no other one.
  public static func tokenEndpoint(_ document: [UInt8], issuer: String) throws(Failure) -> String {
    try tokenEndpoint(document, issuer: issuer, withCertificate: false).url
  }

  /// A token endpoint, and what client assertions name as their audience.
  struct TokenEndpoint: Sendable, Hashable {
    var url: String
    var audience: String
    /// Of `mtls_endpoint_aliases`.
    var isAlias = false
  }

  static func tokenEndpoint(
    _ document: [UInt8], issuer: String, withCertificate: Bool
  ) throws(Failure) -> TokenEndpoint {
    let metadata = try read(document, issuer: issuer)
    guard let url = try metadata.url(of: .token, withCertificate: withCertificate) else {
      throw .missing(ServerMetadata.Endpoint.token.rawValue)
    }
    return TokenEndpoint(
      url: url, audience: try metadata.audience(withCertificate: withCertificate) ?? url,
      isAlias: withCertificate && metadata.hasAlias(of: .token))
  }

  /// The request for one of `documentURLs`.
  static func request(_ url: String) -> TokenHTTPRequest {
    TokenHTTPRequest(
      method: .get, url: url, fields: [("Accept", Secret("application/json"))], body: Secret([]),
      maximumAnswer: maximumDocument)
  }
}

extension Discovery.Failure: CustomStringConvertible {
  public var description: String {
    switch self {
    case .badIssuer(let problem): "the issuer cannot be used: \(problem)"
    case .tooLarge: "the discovery document is larger than \(Discovery.maximumDocument) bytes"
    case .notJSON: "the discovery document is not valid JSON"
    case .missing(let member): "the discovery document has no \(member)"
    case .otherIssuer(let name): "the discovery document belongs to another issuer, '\(name)'"
    case .badEndpoint(let endpoint, let problem): "the discovered \(endpoint.rawValue) cannot be used: \(problem)"
    case .badAlias(let endpoint, let problem):
      "the discovered mtls_endpoint_aliases.\(endpoint.rawValue) cannot be used: \(problem)"
    }
  }
}
