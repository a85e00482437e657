/// The head of a request to a login's listener.
public struct CallbackRequest: Sendable, Hashable {
  public var method: String
  /// As received. It may contain the code.
  public var target: Secret
  /// The values of all Host fields.
  public var hosts: [String]
  public init(method: String, target: Secret, hosts: [String]) {
    self.method = method
    self.target = target
    self.hosts = hosts
  }
}

/// The only answer that a login takes, and how it judges all others (RFC 6749 section 4.1.2, RFC 9207).
struct Callback {
  enum Decision: Hashable {
    case code(Secret)
    /// The server's `error`, as printable text.
    case serverError(OAuthError)
    /// The state is right, but the answer is another server's. The code goes nowhere.
    case otherIssuer(String)
    case wrongPath
    case wrongMethod
    /// Anything else: it says nothing about this login, so the login waits on.
    case notOurs
  }

  let redirectURI: RedirectURI
  /// Of the listener.
  let port: UInt16?
  let secrets: LoginSecrets
  /// nil if the configuration names no issuer.
  let issuer: String?
  let promisesIssuer: Bool

  /// RFC 6749 appendix A.11 gives no limit; a head has 8 KiB.
  static let maximumCode = 4_096
  static let maximumLine = 8_192

  func judge(_ request: CallbackRequest) -> Decision {
    let target = request.target.bytes
    guard target.count <= Self.maximumLine else { return .notOurs }
    let (path, query) = Self.split(target, at: "?")
    guard path.elementsEqual(redirectURI.path.utf8) else { return .wrongPath }
    guard request.method == "GET" else { return .wrongMethod }
    guard let port, request.hosts.count == 1, redirectURI.isHost(request.hosts[0], port: port) else { return .notOurs }
    return judge(query: query)
  }

  /// A line from a person: the URL to which the server sent the browser.
  func judge(pasted line: Secret) -> Decision {
    guard line.bytes.count <= Self.maximumLine else { return .notOurs }
    let (whole, _) = Self.split(PastedLine.trimmed(line.bytes), at: "#")
    let (url, query) = Self.split(Array(whole), at: "?")
    guard redirectURI.isDestination(String(decoding: url, as: UTF8.self), port: port) else { return .notOurs }
    return judge(query: query)
  }

  private func judge(query: ArraySlice<UInt8>) -> Decision {
    guard let fields = QueryText.fields(query) else { return .notOurs }
    do {
      guard let state = try QueryText.only("state", of: fields), secrets.isState(state) else { return .notOurs }
      let code = try QueryText.only("code", of: fields)
      let error = try QueryText.only("error", of: fields)
      let issuer = try QueryText.only("iss", of: fields)
      let description = try QueryText.only("error_description", of: fields)
      guard (code == nil) != (error == nil) else { return .notOurs }
      if let code {
        // RFC 6749 appendix A.11: visible characters and blanks.
        guard code.count <= Self.maximumCode, code.allSatisfy({ $0 >= 0x20 && $0 <= 0x7e }) else { return .notOurs }
      }
      if let problem = problem(issuer: issuer) { return .otherIssuer(problem) }
      if let code { return .code(Secret(code)) }
      return .serverError(Self.error(error ?? [], description, hiding: secrets.all))
    } catch {
      return .notOurs
    }
  }

  /// RFC 9207 section 2.4, by bytes. Why the answer may be another server's; nil: it is not.
  private func problem(issuer named: [UInt8]?) -> String? {
    guard let named else {
      return promisesIssuer
        ? "the answer does not name its server by 'iss', which this server promises to do, so it may be another server's" : nil
    }
    // Without a configured issuer nobody knows what it should be, and nothing promises it.
    guard let issuer else { return nil }
    if named.elementsEqual(issuer.utf8) { return nil }
    let name = LogText.bounded(String(decoding: named, as: UTF8.self), hiding: secrets.all)
    return "the answer is of another server, '\(name)'"
  }

  private static func error(_ name: [UInt8], _ description: [UInt8]?, hiding secrets: [Secret]) -> OAuthError {
    let name = String(decoding: name, as: UTF8.self)
    var text = LogText.bounded(name, hiding: secrets)
    if let description {
      text += " (" + LogText.bounded(String(decoding: description, as: UTF8.self), hiding: secrets) + ")"
    }
    return OAuthError(code: OAuthError.Code(rawValue: name) ?? .other, text: text)
  }

  /// Before the first `mark` and after it; nothing after it if there is none.
  private static func split(_ text: [UInt8], at mark: Unicode.Scalar) -> (before: ArraySlice<UInt8>, after: ArraySlice<UInt8>) {
    guard let index = text.firstIndex(of: UInt8(ascii: mark)) else { return (text[...], []) }
    return (text[..<index], text[(index + 1)...])
  }
}

/// A line of standard input.
enum PastedLine {
  /// Without blanks at both ends, as they come with copying.
  static func trimmed(_ line: [UInt8]) -> [UInt8] {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0d).contains(byte) }
    guard let first = line.firstIndex(where: { !isBlank($0) }), let last = line.lastIndex(where: { !isBlank($0) }) else {
      return []
    }
    return Array(line[first...last])
  }
}
