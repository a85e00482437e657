import Credentials
import Settings

/// `credentials.*.github_app`.
struct GitHubAppKeys: KeySet {
  static let table = KeyTable(GitHubAppKeys())

  enum Access: String, CaseIterable { case read, write, admin }

  let appID = Key("app_id", .text(.anything), .required, "The app's id, or its client id.")
  let installationID = Key("installation_id", .text(.anything), .required, "The number of the installation.")
  let privateKey = Key("private_key", .secret, .required, "The app's private key: RSA of 2048 bits or more, in PEM form.")
  let passphrase = Key("passphrase", .secret, .otherwise("the key is not encrypted"), "Decrypts the private key.")
  let repositories = Key(
    "repositories", .oneOrMore(of: .item(.anything)), .otherwise("all of the installation"),
    "Repositories that the token is for, by name without the owner.")
  let permissions = Key(
    "permissions", .map(of: .choice(Access.allCases)), .otherwise("all of the installation"), "What the token allows.")
  let scheme = Key(
    "scheme", .choice(GitHubApp.Scheme.allCases), default: .bearer,
    "How requests send the token: bearer, or basic with user name x-access-token, for git.")
  let api = Key("api", .text(.url), .text(GitHubApp.api), "The API: https, or http on loopback.")
  let trust = Key(
    "trust", .text(.nameInTrust), .otherwise("the policy named 'default' if there is one, else the system's roots"),
    "Names the trust policy that the API must satisfy when it hands out tokens.")
}
