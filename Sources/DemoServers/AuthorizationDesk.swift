import Crypto

/// Authorization requests between a client and a person, and the codes of those to which a person agreed.
struct AuthorizationDesk {
  struct Agreed {
    let request: LoginRequest
    let person: String
  }

  /// Seconds; a person has this time for the page, too.
  static let pushedLifetime = 300
  /// Seconds.
  private static let codeLifetime = 60
  private static let prefix = "urn:ietf:params:oauth:request_uri:"

  private var requests = Expiring<LoginRequest>()
  private var codes = Expiring<Agreed>()
  /// Codes that were used, with the login that each began.
  private var spent = Expiring<Int>()

  init() {}

  /// - Returns: the request_uri; nil without random bytes.
  mutating func push(_ request: LoginRequest) -> String? {
    guard let name = try? TokenBook.randomText() else { return nil }
    requests.put(request, under: Self.prefix + name, seconds: Self.pushedLifetime)
    return Self.prefix + name
  }

  func request(_ uri: String) -> LoginRequest? { requests[uri] }
  mutating func take(request uri: String) -> LoginRequest? { requests.take(uri) }

  /// - Returns: a code; nil without random bytes.
  mutating func agree(_ request: LoginRequest, person: String) -> String? {
    guard let code = try? TokenBook.randomText() else { return nil }
    codes.put(Agreed(request: request, person: person), under: code, seconds: Self.codeLifetime)
    return code
  }

  /// A code counts once. One that comes again ends the login that it began (RFC 6749 section 4.1.2).
  mutating func take(code: String, _ book: LoginBook) -> Agreed? {
    if let login = spent.take(code) { book.end(login) }
    return codes.take(code)
  }

  mutating func spent(_ code: String, login: Int) { spent.put(login, under: code, seconds: 600) }
}
