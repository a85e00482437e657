import Crypto
import JSON

/// The claims of an id_token (OpenID Connect Core 1.0 section 2).
///
/// Its signature is not checked: it came directly from the token endpoint over judged TLS (section 3.1.3.7, rule 6).
public struct IDToken: Sendable, Hashable {
  /// Bytes; one that is sent as Bearer must fit into a request's head.
  public static let maximum = TokenResponse.maximumToken
  /// Bytes of `sub` (section 2).
  public static let maximumSubject = 255
  /// Seconds by which clocks may differ.
  public static let skew: Int64 = 60

  public let issuer: String
  public let subject: String
  public let audience: [String]
  public let authorizedParty: String?
  /// Unix seconds.
  public let expiry: Int64
  let nonce: String?
  /// The name that the person knows best, as printable text: e-mail address, user name or name; nil if there is none.
  public let displayName: String?

  /// Why an id_token is not believed. Texts contain nothing of the token but printable text of `iss`.
  public enum Problem: Error, Sendable, Hashable {
    case malformed(String)
    case otherIssuer(String)
    case otherAudience
    case otherParty
    case expired
    case otherNonce
    case otherSubject
  }

  public init(_ token: Secret) throws(Problem) {
    guard token.bytes.count <= Self.maximum else { throw .malformed("it is longer than \(Self.maximum) bytes") }
    let parts = token.bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64.decodeURL(parts[1]) else { throw .malformed("it is not a signed JWT") }
    guard let json = try? JSONParser.parse(payload), case .object = json else { throw .malformed("its claims are not JSON") }
    guard let issuer = json["iss"]?.string else { throw .malformed("it has no iss") }
    guard let subject = json["sub"]?.string, (1...Self.maximumSubject).contains(subject.utf8.count) else {
      throw .malformed("it has no sub of at most \(Self.maximumSubject) bytes")
    }
    guard let expiry = Self.time(json["exp"]) else { throw .malformed("it has no exp") }
    switch json["aud"] {
    case .string(let one): audience = [one]
    case .array(let many):
      audience = many.compactMap(\.string)
      guard audience.count == many.count else { throw .malformed("its aud is not a list of strings") }
    default: throw .malformed("it has no aud")
    }
    switch json["azp"] {
    case nil, .null: authorizedParty = nil
    case .string(let text): authorizedParty = text
    default: throw .malformed("its azp is no string")
    }
    self.issuer = issuer
    self.subject = subject
    self.expiry = expiry
    nonce = json["nonce"]?.string
    let names = ["email", "preferred_username", "upn", "name"].compactMap { json[$0]?.string }
    displayName = names.first { !$0.isEmpty }.map { LogText.bounded($0, limit: 100) }
  }

  /// NumericDate of RFC 7519 section 2: a number, perhaps with a fraction.
  private static func time(_ value: JSONValue?) -> Int64? {
    guard case .number(let text)? = value, let number = Double(text), number >= 0, number < 1e15 else { return nil }
    return Int64(number)
  }

  /// Whether it is about this login (section 3.1.3.7).
  ///
  /// - Parameters:
  ///   - nonce: nil if the request could not have one, as a device's.
  ///   - wall: Unix seconds.
  func check(issuer: String, clientID: String, nonce: Secret?, wall: Int64) throws(Problem) {
    guard self.issuer.utf8.elementsEqual(issuer.utf8) else { throw .otherIssuer(LogText.bounded(self.issuer)) }
    guard audience.contains(where: { $0.utf8.elementsEqual(clientID.utf8) }) else { throw .otherAudience }
    // A token for several audiences must say to whom it was issued.
    if let authorizedParty {
      guard authorizedParty.utf8.elementsEqual(clientID.utf8) else { throw .otherParty }
    } else if audience.count > 1 {
      throw .otherParty
    }
    guard expiry > wall - Self.skew else { throw .expired }
    if let nonce {
      guard constantTimeEquals(Array((self.nonce ?? "").utf8), nonce.bytes) else { throw .otherNonce }
    }
  }

  /// An id_token that a refresh brought belongs to the same server and person (OpenID Connect Core section 12.2). A refresh
  /// that brings none is right, too.
  public func checkRefreshed(issuer: String, subject: String) throws(Problem) {
    guard self.issuer.utf8.elementsEqual(issuer.utf8) else { throw .otherIssuer(LogText.bounded(self.issuer)) }
    guard self.subject.utf8.elementsEqual(subject.utf8) else { throw .otherSubject }
  }

  /// Who logged in, for people.
  public var person: String {
    let subject = Self.printable(subject)
    return displayName.map { "\($0) (subject \(subject))" } ?? "subject \(subject)"
  }

  static func printable(_ subject: String) -> String { LogText.bounded(subject, limit: 100) }
}

extension IDToken.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .malformed(let why): "the id_token cannot be used: \(why)"
    case .otherIssuer(let name): "the id_token is of another issuer, '\(name)'"
    case .otherAudience: "the id_token is for another client (aud)"
    case .otherParty: "the id_token was issued to another client (azp)"
    case .expired: "the id_token has expired"
    case .otherNonce: "the id_token is not for this login (nonce)"
    case .otherSubject: "the id_token is about another person (sub)"
    }
  }
}
