/// An entry of `credentials`.
struct CredentialKeys: KeySet {
  static let table = KeyTable(CredentialKeys())
  static var alternatives: [(Self) -> DescribedKey] {
    [
      \.basic, \.bearer, \.header, \.oauth2, \.sigv4, \.cloudIdentity, \.jwt, \.githubApp, \.hmac, \.httpSignature, \.digest,
      \.negotiate, \.query, \.path,
    ]
  }

  let basic = Key("basic", .section(BasicKeys.self), .otherwise(another), "A user name and a password (RFC 7617).")
  let bearer = Key("bearer", .section(BearerKeys.self), .otherwise(another), "A token that does not change (RFC 6750).")
  let header = Key("header", .section(HeaderKeys.self), .otherwise(another), "A secret in a field of any name.")
  let oauth2 = Key("oauth2", .section(OAuth2Keys.self), .otherwise(another), "A token that the proxy gets and refreshes.")
  let sigv4 = Key(
    "sigv4", .section(SigV4Keys.self, mayBeEmpty: true), .otherwise(another),
    "Signs requests to AWS and what speaks its language.")
  let cloudIdentity = Key(
    "cloud_identity", .section(CloudIdentityKeys.self), .otherwise(another), "A token of the machine's own identity.")
  let githubApp = Key(
    "github_app", .section(GitHubAppKeys.self), .otherwise(another), "A token of a GitHub App's installation.")
  let digest = Key(
    "digest", .section(DigestKeys.self), .otherwise(another), "A user name and a password that answer challenges (RFC 7616).")
  let jwt = Key("jwt", .section(JWTKeys.self), .otherwise(another), "A JWT that the proxy signs itself (RFC 7519).")
  let hmac = Key(
    "hmac", .section(HMACKeys.self), .otherwise(another), "A code over parts of the request, with a key that both sides have.")
  let httpSignature = Key(
    "http_signature", .section(HTTPSignatureKeys.self), .otherwise(another), "A signature over the request (RFC 9421).")
  let negotiate = Key(
    "negotiate", .section(NegotiateKeys.self), .otherwise(another), "Kerberos tickets, presented in SPNEGO (RFC 4559).")
  let query = Key("query", .section(QueryKeys.self), .otherwise(another), "A secret in a parameter of the request's query.")
  let path = Key("path", .section(PathKeys.self), .otherwise(another), "A secret in the first segment of the path.")
  let allowPlaintext = Key(
    "allow_plaintext", .boolean, default: false, "Allows the credential to go to an http:// origin in clear text.")
  let allowUntrusted = Key(
    "allow_untrusted", .boolean, default: false,
    "Allows the credential to go out under a trust policy that does not validate chain and host.")

  private static let another = "another kind of credential"
}

/// `credentials.*.basic`.
struct BasicKeys: KeySet {
  static let table = KeyTable(BasicKeys())

  let username = Key("username", .text(.anything), .required, "The user name, without a colon.")
  let password = Key("password", .secret, .required, "The password.")
}

/// `credentials.*.bearer`.
struct BearerKeys: KeySet {
  static let table = KeyTable(BearerKeys())

  let token = Key("token", .secret, .required, "The token.")
}

/// `credentials.*.header`.
struct HeaderKeys: KeySet {
  static let table = KeyTable(HeaderKeys())
  /// Stands for the secret in `format`.
  static let placeholder = "{value}"

  let name = Key("name", .text(.fieldName), .required, "The field's name.")
  let value = Key("value", .secret, .required, "The secret.")
  let format = Key(
    "format", .text(.fieldFormat), .text(placeholder), "The field's value, with {value} in place of the secret.")
}

/// A secret written as a mapping.
struct SecretKeys: KeySet {
  static let table = KeyTable(SecretKeys())
  static var alternatives: [(Self) -> DescribedKey] { [\.file, \.env, \.command] }

  let file = Key("file", .file, .otherwise(another), "Names a file; its content without one trailing newline is the secret.")
  let env = Key("env", .text(.environmentVariable), .otherwise(another), "Names an environment variable.")
  let command = Key(
    "command", .texts(.program), .otherwise(another), "Runs a program without a shell; its standard output is the secret.")
  let timeout = Key("timeout", .duration(), default: 10_000, "Bounds how long the program may run.")
  let refresh = Key(
    "refresh", .duration(atLeast: 1000), .otherwise("on reload only"), "Sets after how long the program runs again.")

  private static let another = "another source"
}
