/// Requests to the Security Token Service, and where it is.
struct STSRequest {
  static let version = "2011-06-15"

  /// Where requests go, and for which region they are signed.
  struct Endpoint: Sendable, Hashable {
    var url: String
    var region: String
  }

  /// nil: neither a URL nor a region is known.
  static func endpoint(_ source: AWSKeySource, profileRegion: @autoclosure () -> String?) -> Endpoint? {
    let environment = source.environment
    let region = source.region ?? environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? profileRegion()
    if let url = source.sts ?? environment["AWS_ENDPOINT_URL_STS"] {
      return Endpoint(url: url, region: region ?? self.region(in: url) ?? "us-east-1")
    }
    guard let region, isRegion(region) else { return nil }
    return Endpoint(url: "https://sts.\(region).\(domain(of: region))", region: region)
  }

  /// Letters, digits and hyphens: it becomes part of a host's name.
  static func isRegion(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy { ($0 >= 0x61 && $0 <= 0x7a) || ($0 >= 0x30 && $0 <= 0x39) || $0 == UInt8(ascii: "-") }
  }

  /// Each partition of AWS has a domain of its own.
  static func domain(of region: String) -> String {
    let domains = [
      ("cn-", "amazonaws.com.cn"), ("us-isob-", "sc2s.sgov.gov"), ("us-iso-", "c2s.ic.gov"), ("us-isof-", "csp.hci.ic.gov"),
      ("eu-isoe-", "cloud.adc-e.uk"), ("eusc-", "amazonaws.eu"),
    ]
    return domains.first { region.hasPrefix($0.0) }?.1 ?? "amazonaws.com"
  }

  /// `eu-central-1` in `https://sts.eu-central-1.amazonaws.com`.
  private static func region(in url: String) -> String? {
    let parts = url.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first?.split(separator: ".") ?? []
    guard parts.count >= 4, parts[0] == "sts" else { return nil }
    let region = String(parts[1])
    return isRegion(region) ? region : nil
  }

  /// Unsigned: the token says who asks.
  static func webIdentity(_ role: AWSKeySource.Role, token: Secret, at endpoint: Endpoint) -> TokenHTTPRequest {
    request(
      "AssumeRoleWithWebIdentity", role, more: [("WebIdentityToken", token.bytes)], at: endpoint)
  }

  /// - Parameter time: Unix seconds by the clock of STS.
  static func assume(_ role: AWSKeySource.Role, with keys: AWSKeys, at endpoint: Endpoint, time: Int64) -> TokenHTTPRequest {
    let more = role.externalID.map { [("ExternalId", $0.bytes)] } ?? []
    var request = request("AssumeRole", role, more: more, at: endpoint)
    request.signature = AWSRequestSignature(keys: keys, region: endpoint.region, service: "sts", time: time)
    return request
  }

  private static func request(
    _ action: String, _ role: AWSKeySource.Role, more: [(String, [UInt8])], at endpoint: Endpoint
  ) -> TokenHTTPRequest {
    let form: [(name: String, value: [UInt8])] =
      [
        ("Action", Array(action.utf8)), ("Version", Array(version.utf8)), ("RoleArn", Array(role.arn.utf8)),
        ("RoleSessionName", Array(role.sessionName.utf8)), ("DurationSeconds", Array("\(role.duration / 1000)".utf8)),
      ] + more.map { (name: $0.0, value: $0.1) }
    return TokenHTTPRequest(
      method: .post, url: endpoint.url,
      fields: [
        ("Content-Type", Secret("application/x-www-form-urlencoded")), ("Accept", Secret("text/xml")),
      ],
      body: Secret(FormEncoding.encode(form)), maximumAnswer: XMLElement.longest)
  }
}

/// How a request is signed (AWS Signature Version 4) by whoever sends it.
public struct AWSRequestSignature: Sendable, Hashable {
  public var keys: AWSKeys
  public var region: String
  public var service: String
  /// Unix seconds.
  public var time: Int64
}
