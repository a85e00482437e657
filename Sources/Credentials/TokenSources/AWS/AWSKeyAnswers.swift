import JSON

/// What hands out keys, and how it writes them.
extension IssuedAWSKeys {
  /// The answer of a container's endpoint or of the metadata service.
  static func endpoint(_ body: [UInt8]) throws(Unfit) -> IssuedAWSKeys {
    let json = try parse(body)
    // The metadata service reports its own failures with status 200.
    if let code = json["Code"]?.string, code.lowercased() != "success" {
      throw Unfit(why: "its Code is '\(LogText.bounded(code, limit: 60))'")
    }
    return try keys(in: json, session: "Token", needsEnd: true)
  }

  /// The output of a `credential_process`.
  static func process(_ output: [UInt8]) throws(Unfit) -> IssuedAWSKeys {
    let json = try parse(output)
    guard json["Version"]?.integer == 1 else { throw Unfit(why: "its Version is not 1") }
    return try keys(in: json, session: "SessionToken", needsEnd: false)
  }

  private static func parse(_ bytes: [UInt8]) throws(Unfit) -> JSONValue {
    do { return try JSONParser.parse(bytes) } catch { throw Unfit(why: "it is \(error.reason.rawValue)") }
  }

  private static func keys(in json: JSONValue, session: String, needsEnd: Bool) throws(Unfit) -> IssuedAWSKeys {
    func text(_ name: String) throws(Unfit) -> String? {
      switch json[name] {
      case nil, .null?: return nil
      case .string(let text)?: return text
      default: throw Unfit(why: "its \(name) is no string")
      }
    }
    let end = try text("Expiration")
    guard end != nil || !needsEnd else { throw Unfit(why: "it has no Expiration") }
    return try IssuedAWSKeys(
      accessKeyID: try text("AccessKeyId"), secretAccessKey: try text("SecretAccessKey"), sessionToken: try text(session),
      expiry: try end.map(time))
  }

  static func time(_ text: String) throws(Unfit) -> Int64 {
    guard let time = UTCInstant.parse(text) else { throw Unfit(why: "its Expiration is no time in UTC") }
    return time
  }

  /// The answer of STS to `action`.
  static func sts(_ body: [UInt8], action: String) throws(Unfit) -> IssuedAWSKeys {
    let root: XMLElement
    do { root = try XMLElement.parse(body) } catch { throw Unfit(why: "it is no XML that STS writes: \(error.why)") }
    guard root.name == "\(action)Response", let found = root.only("\(action)Result")?.only("Credentials"),
      let end = found.only("Expiration")?.text, let token = found.only("SessionToken")?.text
    else { throw Unfit(why: "it has no Credentials") }
    return try IssuedAWSKeys(
      accessKeyID: found.only("AccessKeyId")?.text, secretAccessKey: found.only("SecretAccessKey")?.text, sessionToken: token,
      expiry: try time(end))
  }
}

/// An error as STS writes it.
struct STSError: Sendable, Hashable {
  var code: String
  var message: String

  /// nil if the body is something else.
  init?(_ body: [UInt8]) {
    guard let root = try? XMLElement.parse(body), root.name == "ErrorResponse", let error = root.only("Error"),
      let code = error.only("Code")?.text, !code.isEmpty
    else { return nil }
    self.code = code
    message = error.only("Message")?.text ?? ""
  }

  /// STS asks to try again.
  var isTransient: Bool {
    [
      "Throttling", "ThrottlingException", "RequestLimitExceeded", "TooManyRequestsException", "IDPCommunicationError",
      "ServiceUnavailable", "InternalFailure", "InternalError", "RequestTimeout",
    ].contains(code)
  }

  /// - Parameter secrets: sent values.
  func text(hiding secrets: [Secret]) -> String {
    let code = LogText.bounded(code, limit: 60)
    // The message about a signature quotes what was signed, with the session token.
    guard !message.isEmpty, !code.hasPrefix("Signature"), !code.hasPrefix("IncompleteSignature") else { return code }
    return "\(code) (\(LogText.bounded(message, hiding: secrets)))"
  }
}
