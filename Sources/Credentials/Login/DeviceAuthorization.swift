import JSON

/// The device authorization request (RFC 8628 section 3.1).
struct DeviceRequest {
  let http: TokenHTTPRequest
  let secrets: [Secret]

  /// - Parameters:
  ///   - tokenEndpoint: audience of a client assertion.
  ///   - wall: Unix seconds.
  init(
    policy: OAuth2Policy, settings: LoginSettings, to url: String, tokenEndpoint: String, wall: Int64
  ) throws(TokenFailure) {
    var form = EndpointForm()
    form.add("client_id", policy.clientID ?? "")
    if let scope = policy.scope, !scope.isEmpty { form.add("scope", scope) }
    form.add("resource", each: policy.resource)
    try form.authenticate(policy, tokenEndpoint: tokenEndpoint, assertion: .addedBySender, wall: wall)
    form.add(settings.authorizationParameters)
    http = form.request(to: url)
    secrets = form.secrets
  }
}

/// Its answer (section 3.2).
struct DeviceAuthorization: Hashable {
  let deviceCode: Secret
  /// Visible ASCII, for people.
  let userCode: String
  /// The page for the person, with the user code in it if the server has such a page.
  let url: String
  let interval: PollInterval
  /// Seconds; nil if the server does not say.
  let lifetime: Int64?

  static let maximumCode = 4_096
  static let maximumUserCode = 128

  init(_ answer: EndpointAnswer, hiding secrets: [Secret]) throws(LoginEnd) {
    let json: JSONValue
    do throws(LoginEnd) { json = try answer.object(hiding: secrets) } catch { throw error.during("device request") }
    func malformed(_ why: String) -> LoginEnd { LoginEnd(.malformed(why)).during("device request") }
    guard let code = json["device_code"]?.string, (1...Self.maximumCode).contains(code.utf8.count),
      code.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
    else { throw malformed("it has no usable device_code") }
    guard let userCode = json["user_code"]?.string, (1...Self.maximumUserCode).contains(userCode.utf8.count),
      userCode.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7f })
    else { throw malformed("it has no usable user_code") }
    // Google's name of the second one is older than the RFC.
    let names = ["verification_uri_complete", "verification_uri", "verification_url"]
    guard let url = names.lazy.compactMap({ json[$0]?.string }).first(where: { !$0.isEmpty }) else {
      throw malformed("it has no verification_uri")
    }
    do throws(EndpointURL.Problem) { try Self.check(url) } catch {
      throw LoginEnd(.refused, "device request: the server's verification_uri cannot be used: \(error)")
    }
    deviceCode = Secret(code)
    self.userCode = userCode
    self.url = url
    interval = PollInterval(seconds: TokenResponse.lifetime(json["interval"]))
    lifetime = TokenResponse.lifetime(json["expires_in"])
  }

  /// https unless loopback. A page for people may have a fragment.
  private static func check(_ url: String) throws(EndpointURL.Problem) {
    guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { throw .malformed }
    _ = try EndpointURL(String(url.prefix { $0 != "#" }))
  }
}
