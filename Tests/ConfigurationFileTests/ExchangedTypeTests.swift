import Credentials
import Settings
import Testing

@testable import ConfigurationFile

@Suite("The type of a token that another credential gives")
struct ExchangedTypeTests {
  @Test(
    "a login's id_token gives its type only where the file names none",
    arguments: [
      ("", "", TokenType.idToken.uri, TokenType.idToken.uri),
      ("subject_token_type: jwt", "", TokenType.jwt.uri, TokenType.idToken.uri),
      ("", "actor_token_type: jwt", TokenType.idToken.uri, TokenType.jwt.uri),
      ("subject_token_type: access_token", "actor_token_type: jwt", TokenType.accessToken.uri, TokenType.jwt.uri),
    ])
  func types(subjectLine: String, actorLine: String, subject: String, actor: String) throws {
    let loaded = World.read(
      """
      listen: 127.0.0.1:0
      token_store: {file: tokens.json}
      credentials:
        person:
          oauth2: {grant: authorization_code, issuer: "https://l", client_id: c, scope: openid, use: id_token}
        both:
          oauth2:
            grant: token_exchange
            token_url: https://l/t
            subject_token: {credential: person}
            actor_token: {credential: person}
            \(subjectLine)
            \(actorLine)
      upstreams: [{match: h, credential: both}]
      """)
    #expect(loaded.errorLines.isEmpty, "\(loaded.errorLines)")
    guard case .oauth2(let policy)? = loaded.settings?.credentials["both"]?.kind else {
      Issue.record("no oauth2")
      return
    }
    #expect(policy.exchange?.subject.type == subject)
    #expect(policy.exchange?.actor?.type == actor)
  }
}
