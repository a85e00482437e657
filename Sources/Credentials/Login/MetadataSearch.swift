/// Asks an issuer's two well-known documents for endpoints, each time again: a login may not use what was true an hour ago.
struct MetadataSearch {
  enum Step {
    case ask(TokenHTTPRequest)
    case found(ServerMetadata)
  }

  private let issuer: String
  /// Without these the search fails.
  private let needed: Set<ServerMetadata.Endpoint>
  /// The second document is asked for these too, but may lack them or fail.
  private let wanted: Set<ServerMetadata.Endpoint>
  /// The client presents a certificate, so aliases count.
  private let withCertificate: Bool
  private var remaining: [String] = []
  private var found: ServerMetadata?
  /// Of the last document without metadata.
  private var failure: LoginEnd?

  init(
    issuer: String, needed: Set<ServerMetadata.Endpoint>, wanted: Set<ServerMetadata.Endpoint> = [],
    withCertificate: Bool = false
  ) {
    self.issuer = issuer
    self.needed = needed
    self.wanted = wanted
    self.withCertificate = withCertificate
  }

  mutating func start() throws(LoginEnd) -> Step {
    do throws(Discovery.Failure) { remaining = try Discovery.documentURLs(issuer: issuer) } catch { throw LoginEnd(error) }
    return try next()
  }

  /// - Throws: if the needed endpoints cannot be known any more.
  mutating func answered(_ answer: EndpointAnswer) throws(LoginEnd) -> Step {
    do throws(LoginEnd) {
      guard let metadata = try read(answer) else { return try next() }
      if found == nil { found = metadata } else { found?.complete(from: metadata) }
    } catch {
      // If the first document has what is needed, a second one that cannot be used is as good as none: many servers answer
      // any address with a page.
      guard let found, lacks(found, needed) == nil else { throw error }
    }
    if let found, lacks(found, needed.union(wanted)) == nil { return .found(found) }
    return try next()
  }

  /// nil: the server has no such document.
  private mutating func read(_ answer: EndpointAnswer) throws(LoginEnd) -> ServerMetadata? {
    switch answer {
    case .failed(let failure): throw LoginEnd(failure).during("discovery")
    case .response(200, _, let body, _):
      do throws(Discovery.Failure) { return try Discovery.read(body.bytes, issuer: issuer) } catch { throw LoginEnd(error) }
    case .response(let status, _, _, _):
      let failure = LoginEnd(.discovery("the discovery document's address answered with status \(status)"))
      guard (400..<500).contains(status), status != 429 else { throw failure }
      self.failure = failure
      return nil
    }
  }

  private mutating func next() throws(LoginEnd) -> Step {
    if let url = remaining.first {
      remaining.removeFirst()
      return .ask(Discovery.request(url))
    }
    guard let found else { throw failure ?? LoginEnd(.discovery("the issuer has no discovery document")) }
    if let endpoint = lacks(found, needed) { throw LoginEndpoints.missing(endpoint) }
    return .found(found)
  }

  private func lacks(_ metadata: ServerMetadata, _ endpoints: Set<ServerMetadata.Endpoint>) -> ServerMetadata.Endpoint? {
    ServerMetadata.Endpoint.allCases.first {
      endpoints.contains($0) && !metadata.names($0, withCertificate: withCertificate)
    }
  }
}
