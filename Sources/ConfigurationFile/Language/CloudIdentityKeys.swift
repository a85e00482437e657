import Settings

/// `credentials.*.cloud_identity`.
struct CloudIdentityKeys: KeySet {
  static let table = KeyTable(CloudIdentityKeys())

  enum Cloud: String, CaseIterable { case google, azure }

  let cloud = Key("cloud", .choice(Cloud.allCases), .required, "The cloud whose metadata server knows the machine.")
  let scopes = Key(
    "scopes", .oneOrMore(of: .item(.uri)), .otherwise("those of the machine"), "What the token is for, with cloud google.")
  let idTokenAudience = Key(
    "id_token_audience", .text(.anything), .otherwise("an access token"),
    "For whom the token is, with cloud google: an ID token in place of an access token.")
  let resource = Key(
    "resource", .text(.uri), .otherwise("needed with cloud azure"), "For which service the token is, with cloud azure.")
  let clientID = Key(
    "client_id", .text(.anything), .otherwise("the machine's only identity"),
    "The user-assigned identity, where the machine has several, with cloud azure.")
}
