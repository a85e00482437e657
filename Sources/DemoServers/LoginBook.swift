import Crypto

/// Logins with their refresh tokens, which rotate. If one comes a second time, somebody stole it, and its login ends (RFC 9700
/// section 4.14.2).
final class LoginBook {
  struct Login {
    var person, clientID, scope: String
    /// Thumbprint that refreshes must prove; nil: none.
    var key: String?
    fileprivate var refreshToken = ""
    fileprivate var accessTokens: [String] = []

    /// - Parameter key: thumbprint of the proof that came with the code.
    init(person: String, clientID: String, scope: String, key: String?) {
      (self.person, self.clientID, self.scope, self.key) = (person, clientID, scope, key)
    }
  }

  enum Found {
    case login(Int, Login)
    case unknown
    /// The login has ended by it.
    case usedBefore(Login)
  }

  private let tokens: TokenBook
  private var logins: [Int: Login] = [:]
  /// Every refresh token of a login that lasts, with that login.
  private var issued: [String: Int] = [:]
  private var count = 0

  init(_ tokens: TokenBook) { self.tokens = tokens }

  func begin(_ login: Login) -> Int {
    count += 1
    logins[count] = login
    return count
  }

  /// New tokens of a login. The refresh token before is used.
  /// - Parameter seconds: lifetime of the access token.
  func renew(_ number: Int, seconds: Int) throws(OpenSSLError) -> (access: String, number: Int, refresh: String)? {
    guard var login = logins[number] else { return nil }
    let access = try tokens.issue(seconds: seconds, to: login.person, key: login.key)
    login.refreshToken = try TokenBook.randomText()
    login.accessTokens = login.accessTokens.suffix(9) + [access.text]
    logins[number] = login
    issued[login.refreshToken] = number
    return (access.text, access.number, login.refreshToken)
  }

  func find(refreshToken: String) -> Found {
    guard let number = issued[refreshToken], let login = logins[number] else { return .unknown }
    if login.refreshToken == refreshToken { return .login(number, login) }
    end(number)
    return .usedBefore(login)
  }

  /// Ends the login of a refresh token, or an access token alone (RFC 7009 section 2.1).
  /// - Returns: whose it was; nil: nobody's.
  func revoke(_ token: String) -> Login? {
    if let number = issued[token] {
      defer { end(number) }
      return logins[number]
    }
    tokens.revoke(token)
    return logins.values.first { $0.accessTokens.contains(token) }
  }

  func end(_ number: Int) {
    for token in logins[number]?.accessTokens ?? [] { tokens.revoke(token) }
    logins[number] = nil
    issued = issued.filter { $0.value != number }
  }
}
