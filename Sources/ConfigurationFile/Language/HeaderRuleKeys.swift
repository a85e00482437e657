/// `upstreams.request_headers` and `upstreams.response_headers`.
struct HeaderRuleKeys: KeySet {
  static let table = KeyTable(HeaderRuleKeys())

  let remove = Key(
    "remove", .texts(.fieldPattern), .list([]),
    "Lists fields that do not go on; a name may end in *, and '_' is '-'.")
  let set = Key(
    "set", .map(of: .text(.fieldTemplate)), .otherwise("none"),
    "Fields that the proxy writes, in place of all of the same names.")
}
