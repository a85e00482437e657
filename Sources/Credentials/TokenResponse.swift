import JSON

/// Reads a token endpoint's response (RFC 6749 section 5) and checks every part.
public enum TokenResponse {
  /// Bytes of a body; the sender reads no more.
  public static let maximumBody = 131_072
  /// Bytes of an access or refresh token: a larger one would not fit into a request's head.
  public static let maximumToken = 16_384
  /// Seconds; longer lifetimes are cut to this (ten years).
  public static let maximumLifetime: Int64 = 315_360_000

  /// What an endpoint of an authorization server answered, before anything in it is believed.
  enum Reading {
    case object(JSONValue)
    case refused(OAuthError)
    case failed(TokenFailure, retryAfter: Int64?)
  }

  /// - Parameters:
  ///   - retryAfter: seconds of the Retry-After field.
  ///   - secrets: sent values, which errors hide.
  ///   - type: the only one that is accepted.
  ///   - isExchange: the answer to a token exchange, whose token may also be of no type (RFC 8693 section 2.2.1).
  public static func parse(
    status: Int, body: [UInt8], retryAfter: Int64? = nil, hiding secrets: [Secret] = [], as type: TokenScheme = .bearer,
    ofExchange isExchange: Bool = false
  ) -> TokenAnswer {
    switch read(status: status, body: body, retryAfter: retryAfter, hiding: secrets) {
    case .object(let json): (isExchange ? unfit(json) : nil) ?? grant(json, as: type, ofExchange: isExchange)
    case .refused(let error): .refused(error)
    case .failed(let failure, let wait): .failed(failure, retryAfter: wait)
    }
  }

  /// For any endpoint with JSON answers. `failed` has milliseconds.
  static func read(status: Int, body: [UInt8], retryAfter: Int64?, hiding secrets: [Secret]) -> Reading {
    let wait = retryAfter.map { max(0, min($0, 86_400)) * 1000 }
    guard body.count <= maximumBody else { return .failed(.tooLarge, retryAfter: wait) }
    switch status {
    case 200..<300:
      guard body.contains(where: { $0 != 0x20 && $0 != 0x0a && $0 != 0x0d && $0 != 0x09 }) else {
        return .failed(.empty, retryAfter: wait)
      }
      let json: JSONValue
      do { json = try JSONParser.parse(body) } catch {
        return .failed(.malformed("it is \(error.reason.rawValue)"), retryAfter: nil)
      }
      // Some servers report errors with status 200.
      if let refusal = refusal(json, hiding: secrets) { return .refused(refusal) }
      return .object(json)
    case 300..<400:
      return .failed(.redirected, retryAfter: nil)
    case 429:
      return .failed(.status(status), retryAfter: wait)
    case 400..<500:
      if let json = try? JSONParser.parse(body), let refusal = refusal(json, hiding: secrets) { return .refused(refusal) }
      return .failed(.status(status), retryAfter: wait)
    default:
      // Do not trust invalid_grant from a server that fails (5xx).
      return .failed(.status(status), retryAfter: wait)
    }
  }

  private static func refusal(_ json: JSONValue, hiding secrets: [Secret]) -> OAuthError? {
    guard let name = json["error"]?.string, !name.isEmpty else { return nil }
    var text = LogText.bounded(name, hiding: secrets)
    if let description = json["error_description"]?.string, !description.isEmpty {
      text += " (" + LogText.bounded(description, hiding: secrets) + ")"
    }
    return OAuthError(code: OAuthError.Code(rawValue: name) ?? .other, text: text)
  }

  private static func grant(_ json: JSONValue, as expected: TokenScheme, ofExchange isExchange: Bool) -> TokenAnswer {
    // First: the server may have spent the one that was sent, whatever else is wrong with its answer.
    var refreshToken: Secret?
    var fault: String?
    switch json["refresh_token"] {
    case nil, .null: break
    case .string(let text):
      let bytes = Array(text.utf8)
      // RFC 6749 appendix A.17; an empty one counts as absent.
      if bytes.count > maximumToken || !bytes.allSatisfy({ $0 >= 0x20 && $0 <= 0x7e }) {
        fault = "its refresh_token is too long or has characters that none may have (RFC 6749)"
      } else if !bytes.isEmpty {
        refreshToken = Secret(bytes)
      }
    default: fault = "its refresh_token is no string"
    }
    do throws(Unfit) {
      let token = try accessToken(json, as: expected, ofExchange: isExchange)
      if let fault { throw Unfit(why: fault) }
      var grant = TokenGrant(accessToken: token, lifetime: lifetime(json["expires_in"]), refreshToken: refreshToken)
      grant.idToken = json["id_token"]?.string.map { Secret($0) }
      grant.scope = json["scope"]?.string.flatMap { isScope($0) ? $0 : nil }
      grant.refreshLifetime = lifetime(json["refresh_token_expires_in"]) ?? lifetime(json["refresh_expires_in"])
      return .token(grant)
    } catch {
      return .failed(refreshToken.map { .unusable(error.why, refreshToken: $0) } ?? .malformed(error.why))
    }
  }

  private struct Unfit: Error { let why: String }

  private static func accessToken(
    _ json: JSONValue, as expected: TokenScheme, ofExchange isExchange: Bool
  ) throws(Unfit) -> Secret {
    guard let type = json["token_type"]?.string else { throw Unfit(why: "it has no token_type") }
    // RFC 6749 section 7.1: case-insensitive. RFC 9449 section 5: where DPoP is wanted, any other token is a downgrade.
    let name = type.lowercased()
    guard name == expected.rawValue.lowercased() || (isExchange && expected == .bearer && name == "n_a") else {
      throw Unfit(why: "its token_type is '\(LogText.bounded(type, limit: 40))', not \(expected.rawValue)")
    }
    guard let token = json["access_token"]?.string else { throw Unfit(why: "it has no access_token") }
    let bytes = Array(token.utf8)
    guard bytes.count <= maximumToken else { throw Unfit(why: "its access_token is too long") }
    guard isAccessToken(bytes) else {
      throw Unfit(why: "its access_token has characters that none may have (RFC 6749 appendix A.12)")
    }
    return Secret(bytes)
  }

  /// RFC 8693 section 2.2.1. Servers are known to leave the type out. A refresh token is not for APIs.
  private static func unfit(_ json: JSONValue) -> TokenAnswer? {
    switch json["issued_token_type"] {
    case nil, .null: nil
    case .string(let type):
      type == TokenType.refreshToken.uri ? .failed(.malformed("its issued_token_type is a refresh token")) : nil
    default: .failed(.malformed("its issued_token_type is no string"))
    }
  }

  /// Bytes of a granted scope that is kept.
  static let maximumScope = 4_096

  /// RFC 6749 appendix A.4, without regard to where its blanks are.
  private static func isScope(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maximumScope
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }
  }

  /// access-token of RFC 6749 appendix A.12, without blanks, which would end a token in a field. Not only RFC 6750's b64token,
  /// as real tokens contain `|` and `%`.
  public static func isAccessToken(_ bytes: [UInt8]) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f }
  }

  /// Unix seconds of the member `expires_on`, which Azure writes as a text; nil if there is none.
  static func endOfToken(in body: [UInt8]) -> Int64? {
    switch (try? JSONParser.parse(body))?["expires_on"] {
    // What is computed with a time must not overflow.
    case .number(let text)?, .string(let text)?: Int64(text).flatMap { 0..<1_000_000_000_000_000 ~= $0 ? $0 : nil }
    default: nil
    }
  }

  /// Seconds, from a number or a string that contains one, without fractions. nil for zero and for everything that is not a
  /// positive time: then the configuration's default lifetime applies. If the token is in fact dead, a 401 will show it.
  static func lifetime(_ value: JSONValue?) -> Int64? {
    let text: String
    switch value {
    case .number(let number): text = number
    case .string(let string):
      guard !string.isEmpty, string.utf8.allSatisfy({ ($0 >= 0x30 && $0 <= 0x39) || $0 == 0x2e }) else { return nil }
      text = string
    default: return nil
    }
    guard let number = Double(text), number.isFinite, number >= 1 else { return nil }
    return number >= Double(maximumLifetime) ? maximumLifetime : Int64(number)
  }
}
