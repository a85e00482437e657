import HTTPWire

/// The endpoint of ECS, EKS and other agents that hands out a container's keys.
public struct ContainerEndpoint {
  static let name = "the container's endpoint for keys"
  private static let relative = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"
  private static let full = "AWS_CONTAINER_CREDENTIALS_FULL_URI"
  /// Hosts that may get the token in clear text, beside loopback: agents of ECS and EKS.
  private static let agents: Set<String> = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
  /// Bytes of an answer.
  static let longestAnswer = 65_536

  private let url: String
  private let environment: SourceEnvironment

  static func isNamed(in environment: SourceEnvironment) -> Bool { environment[relative] != nil || environment[full] != nil }

  /// The token goes there over TLS, so that whom it trusts matters.
  public static func isSecure(in environment: SourceEnvironment) -> Bool {
    guard environment[relative] == nil, let text = environment[full] else { return false }
    return (try? HTTPURL(text))?.isHTTPS == true
  }

  init(_ environment: SourceEnvironment) throws(AWSProfiles.Unusable) {
    self.environment = environment
    if let path = environment[Self.relative] {
      url = "http://169.254.170.2\(path.hasPrefix("/") ? "" : "/")\(path)"
      guard (try? HTTPURL(url))?.host == "169.254.170.2" else {
        throw AWSProfiles.Unusable(why: "\(Self.relative) is not a path")
      }
      return
    }
    guard let text = environment[Self.full] else {
      throw AWSProfiles.Unusable(why: "neither \(Self.relative) nor \(Self.full) is set")
    }
    guard let parsed = try? HTTPURL(text) else { throw AWSProfiles.Unusable(why: "\(Self.full) is not a URL") }
    guard parsed.isHTTPS || parsed.isLoopback || Self.agents.contains(parsed.host) else {
      throw AWSProfiles.Unusable(
        why: "\(Self.full) must be https, or http on loopback, 169.254.170.2, 169.254.170.23 or fd00:ec2::23")
    }
    url = text
  }

  /// With the token of its file, which is read for each fetch as its issuer replaces it, or of the environment.
  func request(_ access: SourceAccess) throws(AWSProfiles.Unusable) -> TokenHTTPRequest {
    var fields: [(name: String, value: Secret)] = [("Accept", Secret("application/json"))]
    var token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"].map { Secret($0) }
    if let path = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] {
      do throws(SourceAccess.Problem) { token = AWSKeyFetch.trimmed(try access.read(path).content) } catch {
        throw AWSProfiles.Unusable(why: "\(path): \(error)")
      }
    }
    if let token {
      guard !token.isEmpty, token.bytes.allSatisfy({ $0 >= 0x20 && $0 < 0x7f }) else {
        throw AWSProfiles.Unusable(why: "the token for \(Self.name) has characters that none may have")
      }
      fields.append(("Authorization", token))
    }
    var request = TokenHTTPRequest(
      method: .get, url: url, fields: fields, body: Secret([]), maximumAnswer: Self.longestAnswer)
    request.isLocal = true
    return request
  }

  static func keys(_ reply: SourceReply) throws(TokenFailure) -> IssuedAWSKeys {
    switch reply.status {
    case 200: break
    case 300..<400: throw .server(TokenFailure.redirected.described(of: name))
    default: throw .server(TokenFailure.status(reply.status).described(of: name))
    }
    do throws(IssuedAWSKeys.Unfit) { return try .endpoint(reply.body) } catch {
      throw .server(TokenFailure.malformed(error.why).described(of: name))
    }
  }
}
