import Credentials

/// `credentials.*.hmac`.
struct HMACKeys: KeySet {
  static let table = KeyTable(HMACKeys())

  let key = Key("key", .secret, .required, "The key that both sides have.")
  let keyEncoding = Key("key_encoding", .choice(HMACPolicy.KeyEncoding.allCases), default: .text, "How the key is written.")
  let algorithm = Key(
    "algorithm", .choice(HMACPolicy.Algorithm.allCases), default: .sha256, "The hash under the code (RFC 2104).")
  let message = Key(
    "message", .text(.template), .required, "What is signed: a text with placeholders for parts of the request.")
  let output = Key("output", .choice(HMACPolicy.Output.allCases), default: .hex, "How the signature is written.")
  let timestamp = Key(
    "timestamp", .choice(HMACPolicy.Timestamp.allCases), default: .unix, "How the placeholder timestamp is written.")
  let values = Key("values", .map(of: .secret), .otherwise("none"), "More placeholders by name, for message and fields.")
  let fields = Key(
    "fields", .map(of: .text(.template)), .required, "The fields that the proxy writes; one of them has {signature}.")
}
