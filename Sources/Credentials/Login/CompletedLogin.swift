/// What a login brings into the token store. Its writer adds binding and generation.
public struct CompletedLogin: Sendable, Hashable {
  public var accessToken: Secret
  public var refreshToken: Secret?
  /// What requests send as Bearer: the access token, or the id_token by `use`.
  public var bearer: Secret
  /// Unix seconds, of `bearer`.
  public var expiresAt: Int64
  /// Seconds of lifetime of `bearer` when it was issued.
  public var lifetime: Int64
  /// Unix seconds.
  public let loggedInAt: Int64
  /// Unix seconds: when a person must log in again, as far as anybody said.
  public var loginExpiresAt: Int64?
  /// The granted scope; nil if nobody named one.
  public var scope: String?
  /// `sub` of the id_token; nil without OpenID.
  public var subject: String?
  /// Who logged in, as printable text for people.
  public var person: String?
  /// For `TokenRecord.dpopKey`.
  public var dpopKey: Secret?
}
