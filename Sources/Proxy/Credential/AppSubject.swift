import Credentials
import EventIO
import HTTPWire
import Routing

/// The user on whose behalf an app sends a request, by the app's own `Authorization: Bearer` (RFC 6750 section 2.1). The request
/// has it until it ends; the token itself never goes to the API.
final class AppSubject {
  let key: SubjectKey
  let client: SubjectClient
  let token: Secret

  /// nil if the head has no Bearer token, several fields, or a token that none can be.
  init?(of head: borrowing RequestHead, _ bytes: UnsafeRawBufferPointer, client: ClientIdentity, at peer: Address) {
    var found: UnsafeRawBufferPointer?
    for field in head.fields where field.id == .authorization {
      guard found == nil else { return nil }
      found = field.value.bytes(in: bytes)
    }
    guard let found, found.count > 7, equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: found[..<7]), "bearer ") else {
      return nil
    }
    let token = Array(found[7...].drop { $0 == 0x20 })
    guard token.count <= TokenResponse.maximumToken, TokenResponse.isAccessToken(token),
      let key = SubjectKey(token: Secret(token), client: client.name)
    else { return nil }
    self.key = key
    self.token = Secret(token)
    self.client = SubjectClient(client, at: peer)
  }
}

extension SubjectClient {
  fileprivate init(_ client: ClientIdentity, at peer: Address) {
    // Not `words: peer.words`: the optimizer of Swift 6.3.1 fails on it.
    if let words = peer.words {
      self.init(name: client.name, words: (words.high, words.low))
    } else {
      self.init(name: client.name, words: nil)
    }
  }
}
