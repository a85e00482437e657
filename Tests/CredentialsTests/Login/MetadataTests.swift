import JSON
import Testing

@testable import Credentials

@Suite("Metadata for a login comes from both documents, and each endpoint is checked")
struct MetadataTests {
  private func read(_ changes: [String: JSONValue?]) throws -> ServerMetadata {
    try Discovery.read(metadata(changes), issuer: loginIssuer)
  }

  @Test("all members are read")
  func members() throws {
    let found = try read([
      "pushed_authorization_request_endpoint": "https://par.example.net/par",
      "authorization_response_iss_parameter_supported": .bool(true),
      "mtls_endpoint_aliases": ["token_endpoint": "https://mtls.example.com/token"],
    ])
    #expect(try found.url(of: .token) == "https://login.example.com/token")
    #expect(try found.url(of: .authorization) == "https://login.example.com/authorize")
    #expect(try found.url(of: .deviceAuthorization) == "https://login.example.com/device")
    #expect(try found.url(of: .pushedAuthorization) == "https://par.example.net/par")
    #expect(try found.url(of: .revocation) == "https://login.example.com/revoke")
    #expect(found.challengeMethods == ["S256", "plain"])
    #expect(found.promisesIssuer)
    #expect(try found.url(of: .token, withCertificate: true) == "https://mtls.example.com/token")
  }

  @Test("what is absent, or of another type, is absent")
  func absent() throws {
    let found = try read([
      "revocation_endpoint": nil, "code_challenge_methods_supported": nil,
      "authorization_response_iss_parameter_supported": "true", "device_authorization_endpoint": .integer(7),
    ])
    #expect(try found.url(of: .revocation) == nil)
    #expect(try found.url(of: .deviceAuthorization) == nil)
    #expect(found.challengeMethods == nil && !found.promisesIssuer)
    #expect(try found.url(of: .token, withCertificate: true) == found.url(of: .token))
  }

  @Test(
    "an endpoint to which nothing may be sent is an error for those who need it, and for nobody else",
    arguments: ServerMetadata.Endpoint.allCases)
  func badEndpoints(endpoint: ServerMetadata.Endpoint) throws {
    for (url, problem) in [
      ("http://login.example.com/x", .notHTTPS), ("/x", .malformed),
      ("https://u@login.example.com/", .fragmentOrUserInformation),
    ] as [(String, EndpointURL.Problem)] {
      let found = try read([endpoint.rawValue: .string(url)])
      for other in ServerMetadata.Endpoint.allCases {
        do throws(Discovery.Failure) {
          _ = try found.url(of: other)
          #expect(other != endpoint)
        } catch {
          #expect(error == .badEndpoint(endpoint, problem))
          #expect(other == endpoint)
        }
      }
    }
    #expect(try read([endpoint.rawValue: "http://127.0.0.1:8080/x"]).url(of: endpoint) == "http://127.0.0.1:8080/x")
  }

  // MARK: Two documents

  private static let first = "https://login.example.com/.well-known/openid-configuration"
  private static let second = "https://login.example.com/.well-known/oauth-authorization-server"

  /// The URLs that a search asks, and its result.
  private func search(
    _ answers: [EndpointAnswer], needed: Set<ServerMetadata.Endpoint> = [.token, .authorization],
    wanted: Set<ServerMetadata.Endpoint> = []
  ) -> (asked: [String], result: Result<ServerMetadata, LoginEnd>) {
    var search = MetadataSearch(issuer: loginIssuer, needed: needed, wanted: wanted)
    var asked: [String] = []
    var answers = answers[...]
    do throws(LoginEnd) {
      var step = try search.start()
      while case .ask(let request) = step {
        asked.append(request.url)
        #expect(request.method == .get && request.maximumAnswer == Discovery.maximumDocument)
        step = try search.answered(answers.popFirst() ?? .failed(.timedOut))
      }
      guard case .found(let metadata) = step else { return (asked, .failure(LoginEnd(.unavailable, "no end"))) }
      return (asked, .success(metadata))
    } catch {
      return (asked, .failure(error))
    }
  }

  @Test("the second document is asked only for what the first lacks")
  func secondOnlyIfNeeded() throws {
    #expect(search([.ok(metadata())]).asked == [Self.first])
    let both = search(
      [
        .ok(metadata(["revocation_endpoint": nil, "code_challenge_methods_supported": nil])),
        .ok(
          metadata(["token_endpoint": "https://other.example/token", "revocation_endpoint": "https://login.example.com/r2"])),
      ], wanted: [.revocation])
    #expect(both.asked == [Self.first, Self.second])
    let found = try both.result.get()
    #expect(try found.url(of: .token) == "https://login.example.com/token")
    #expect(try found.url(of: .revocation) == "https://login.example.com/r2")
    #expect(found.challengeMethods == ["S256", "plain"])
  }

  @Test("the promise to send iss counts from either document")
  func promise() throws {
    let found = search(
      [.ok(metadata()), .ok(metadata(["authorization_response_iss_parameter_supported": .bool(true)]))],
      wanted: [.pushedAuthorization])
    #expect(try found.result.get().promisesIssuer)
  }

  static let unusable: [EndpointAnswer] = [
    .status(404), .status(500), .status(429), .status(307), .ok(bytes("<html>")), .failed(.tooLarge), .failed(.timedOut),
    .failed(.unreachable("connection reset")), .ok(metadata(["issuer": "https://evil.example"])),
  ]

  @Test("a second document that cannot be used is as good as none, if the first has what is needed", arguments: unusable)
  func secondUnusable(answer: EndpointAnswer) throws {
    let found = search([.ok(metadata()), answer], wanted: [.pushedAuthorization])
    #expect(found.asked == [Self.first, Self.second])
    #expect(try found.result.get().url(of: .token) == "https://login.example.com/token")
  }

  static let failures: [([EndpointAnswer], LoginExit, String)] = [
    ([.status(404), .status(404)], .unavailable, "answered with status 404"),
    ([.status(500)], .unavailable, "answered with status 500"),
    ([.status(307)], .unavailable, "answered with status 307"),
    ([.failed(.timedOut)], .unavailable, "did not answer in time"),
    ([.failed(.notTrusted("unknown authority"))], .refused, "is not trusted"),
    ([.ok(bytes("<html>"))], .unavailable, "not valid JSON"),
    ([.failed(.tooLarge)], .unavailable, "larger than"),
    ([.ok(metadata(["issuer": "https://login.example.com/"]))], .refused, "belongs to another issuer"),
    ([.ok(metadata(["issuer": nil]))], .refused, "has no issuer"),
    ([.ok(metadata(["authorization_endpoint": nil])), .status(404)], .configuration, "configure authorization_url"),
    ([.ok(metadata(["authorization_endpoint": nil])), .status(502)], .unavailable, "status 502"),
    (
      [.ok(metadata(["token_endpoint": nil])), .ok(metadata(["token_endpoint": nil]))], .configuration,
      "token_url"
    ),
  ]

  @Test("a search without result says why", arguments: failures)
  func fails(answers: [EndpointAnswer], exit: LoginExit, says: String) {
    guard case .failure(let end) = search(answers).result else {
      Issue.record("found")
      return
    }
    #expect(end.exit == exit)
    #expect(end.text.contains(says), "\(end.text)")
  }

  @Test("explicit endpoints replace discovered ones, also unusable ones")
  func explicit() throws {
    let policy = loginPolicy(endpoints: .init(authorization: "https://a.example/auth", revocation: "https://a.example/revoke"))
    var endpoints = LoginEndpoints(policy: policy)
    endpoints.metadata = try read(["authorization_endpoint": "http://clear.example/auth"])
    #expect(try endpoints.required(.authorization) == "https://a.example/auth")
    #expect(try endpoints.required(.revocation) == "https://a.example/revoke")
    #expect(try endpoints.required(.deviceAuthorization) == "https://login.example.com/device")
    #expect(LoginEndpoints(policy: loginPolicy(issuer: nil)).search(needed: [.token]) == nil)
  }

  @Test("a refresh needs nothing but the token endpoint, whatever else the document says")
  func refresh() throws {
    let document = metadata(["revocation_endpoint": "http://clear.example/r", "authorization_endpoint": nil])
    #expect(try Discovery.tokenEndpoint(document, issuer: loginIssuer) == "https://login.example.com/token")
  }
}
