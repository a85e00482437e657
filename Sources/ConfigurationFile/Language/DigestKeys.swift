import Credentials

/// `credentials.*.digest`.
struct DigestKeys: KeySet {
  static let table = KeyTable(DigestKeys())
  static let allAlgorithms = DigestPolicy.Algorithm.allCases.map(\.rawValue)

  let username = Key("username", .text(.anything), .required, "The user name.")
  let password = Key("password", .secret, .required, "The password.")
  let algorithms = Key(
    "algorithms", .texts(of: .words(allAlgorithms)), .list(allAlgorithms),
    "Lists the algorithms that the proxy answers to, the best first; with their -sess forms.")
}
