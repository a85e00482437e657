/// An authorization request that is right (RFC 6749 section 4.1.1, with PKCE), before a person has answered it.
struct LoginRequest {
  enum Problem: Error {
    /// There is no URL to answer at: the person is told.
    case unanswerable(String)
    /// For the client, at its redirect URI.
    case refused(code: String, why: String, redirectURI: String, state: String?)
  }

  let clientID, redirectURI, scope, challenge: String
  let state, nonce: String?
  /// Thumbprint of the key that the code is bound to (RFC 9449 section 10); nil: to none.
  let key: String?

  /// - Parameters:
  ///   - proven: thumbprint of the proof that came with a pushed request.
  init(_ query: [String: String], isRepetitive: Bool, client: String, proven: String?) throws(Problem) {
    guard query["client_id"] == client else { throw .unanswerable("There is no client of this client_id.") }
    guard let redirectURI = query["redirect_uri"], Self.isLoopback(redirectURI) else {
      throw .unanswerable("The redirect_uri is not http on 127.0.0.1, [::1] or localhost.")
    }
    let state = query["state"]
    func refused(_ code: String, _ why: String) -> Problem {
      .refused(code: code, why: why, redirectURI: redirectURI, state: state)
    }
    if isRepetitive { throw refused("invalid_request", "a parameter is repeated") }
    guard query["response_type"] == "code" else { throw refused("unsupported_response_type", "response_type is not code") }
    guard let challenge = query["code_challenge"], challenge.utf8.count == 43, query["code_challenge_method"] == "S256" else {
      throw refused("invalid_request", "PKCE with S256 is required")
    }
    if let named = query["dpop_jkt"], let proven, named != proven {
      throw refused("invalid_dpop_proof", "dpop_jkt is not the proof's key")
    }
    clientID = client
    self.redirectURI = redirectURI
    self.challenge = challenge
    self.state = state
    scope = query["scope"] ?? ""
    nonce = query["nonce"]
    key = query["dpop_jkt"] ?? proven
  }

  /// Any port (RFC 8252 section 7.3) and path.
  private static func isLoopback(_ url: String) -> Bool {
    guard !url.contains("#"), url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return false }
    return ["127.0.0.1", "[::1]", "localhost"].contains { host in
      guard url.hasPrefix("http://\(host)") else { return false }
      let rest = url.dropFirst("http://\(host)".count)
      guard rest.first == ":" else { return rest.isEmpty || rest.first == "/" }
      let port = rest.dropFirst().prefix { $0 != "/" }
      return UInt16(port) != nil
    }
  }
}
