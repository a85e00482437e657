/// `credentials.*.query`.
struct QueryKeys: KeySet {
  static let table = KeyTable(QueryKeys())

  let name = Key("name", .text(.anything), .required, "The parameter's name, as it is before percent-encoding.")
  let value = Key("value", .secret, .required, "The secret, as it is before percent-encoding.")
}

/// `credentials.*.path`.
struct PathKeys: KeySet {
  static let table = KeyTable(PathKeys())

  let segment = Key(
    "segment", .text(.fieldFormat), .required, "The first segment of the path, with {value} in place of the secret.")
  let value = Key("value", .secret, .required, "The secret, as it is before percent-encoding.")
}
