/// The metadata service of an EC2 instance, in its second version only: a token first, then the role's name, then its keys.
struct InstanceMetadata: Sendable {
  static let name = "the instance's metadata service"
  /// Milliseconds for each request. It is on the same machine, or it is not there.
  static let timeout = 1_000
  /// Seconds that expired keys stay in use: AWS asks for a new attempt after 5 to 10 minutes, which half of this is.
  static let `extension`: Int64 = 600
  private static let lifetimeOfToken = "21600"
  private static let path = "/latest/meta-data/iam/security-credentials/"
  private static let longestAnswer = 65_536

  enum Progress {
    case next(TokenHTTPRequest)
    case keys(IssuedAWSKeys)
    case failed(TokenFailure)
  }

  private enum Step {
    case token
    case role(Secret)
    case keys
  }

  private let origin: String
  private var step = Step.token

  static func isDisabled(by environment: SourceEnvironment) -> Bool {
    environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() == "true"
  }

  init(_ environment: SourceEnvironment) {
    var origin = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? "http://169.254.169.254"
    if environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] == nil,
      environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
    {
      origin = "http://[fd00:ec2::254]"
    }
    while origin.hasSuffix("/") { origin.removeLast() }
    self.origin = origin
  }

  /// The first request.
  var request: TokenHTTPRequest {
    request(
      .put, "/latest/api/token", ("X-aws-ec2-metadata-token-ttl-seconds", Secret(Self.lifetimeOfToken)))
  }

  mutating func answered(_ reply: SourceReply) -> Progress {
    switch reply.status {
    case 200: break
    case 300..<400: return .failed(.server(TokenFailure.redirected.described(of: Self.name)))
    case 404:
      if case .role = step { return .failed(.unfit("the instance has no role, so \(Self.name) has no keys")) }
      return .failed(.server(TokenFailure.status(404).described(of: Self.name)))
    default: return .failed(.server(TokenFailure.status(reply.status).described(of: Self.name)))
    }
    switch step {
    case .token:
      let token = AWSKeyFetch.trimmed(Secret(reply.body))
      guard TokenResponse.isAccessToken(token.bytes), token.bytes.count <= 4_096 else { return malformed("it is no token") }
      step = .role(token)
      return .next(request(.get, Self.path, ("X-aws-ec2-metadata-token", token)))
    case .role(let token):
      let name = reply.body.prefix { $0 != 0x0a && $0 != 0x0d }
      // The characters of a role's name. It becomes part of a path.
      let isName = name.allSatisfy { byte in
        (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a) || Array("+=,.@-_".utf8).contains(byte)
      }
      guard !name.isEmpty, name.count <= 128, isName else { return malformed("it is no role's name") }
      step = .keys
      return .next(
        request(.get, Self.path + String(decoding: name, as: UTF8.self), ("X-aws-ec2-metadata-token", token)))
    case .keys:
      do throws(IssuedAWSKeys.Unfit) { return .keys(try .endpoint(reply.body)) } catch { return malformed(error.why) }
    }
  }

  /// A failure to get an answer.
  func described(_ failure: TokenFailure) -> TokenFailure {
    switch failure {
    case .timedOut, .unreachable:
      // Through a container's network an answer to PUT needs more hops than the one that instances begin with.
      .server(
        "\(Self.name) did not answer within \(Self.timeout / 1000) s; is this an EC2 instance? In a container its hop limit must be 2 "
          + "(HttpPutResponseHopLimit)")
    default: .server(failure.described(of: Self.name))
    }
  }

  private func malformed(_ why: String) -> Progress { .failed(.server(TokenFailure.malformed(why).described(of: Self.name))) }

  private func request(
    _ method: TokenHTTPRequest.Method, _ path: String, _ field: (name: String, value: Secret)
  ) -> TokenHTTPRequest {
    var request = TokenHTTPRequest(
      method: method, url: origin + path, fields: [field], body: Secret([]), maximumAnswer: Self.longestAnswer)
    request.timeout = Self.timeout
    request.isLocal = true
    return request
  }
}
