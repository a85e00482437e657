import JSON

/// Keys as the token machine has them: one secret.
extension AWSKeys {
  var token: Secret {
    var members: [JSONValue.Member] = [
      .init(name: "id", value: .string(accessKeyID)),
      .init(name: "secret", value: .string(String(decoding: secretAccessKey.bytes, as: UTF8.self))),
    ]
    if let sessionToken {
      members.append(.init(name: "session", value: .string(String(decoding: sessionToken.bytes, as: UTF8.self))))
    }
    return Secret(JSONValue.object(members).text)
  }

  /// nil if it is no `token`.
  init?(token: Secret) {
    guard let json = try? JSONParser.parse(token.bytes), let id = json["id"]?.string, let secret = json["secret"]?.string else {
      return nil
    }
    self.init(
      accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: json["session"]?.string.map { Secret($0) })
  }
}

/// Keys with their end, as a source has handed them out.
struct IssuedAWSKeys: Sendable, Hashable {
  var keys: AWSKeys
  /// Unix seconds by the issuer's clock; nil: the source names no end.
  var expiry: Int64?

  /// Why they cannot be used, as a clause after `it`.
  struct Unfit: Error, Hashable {
    let why: String
  }

  private static let longestID = 256
  private static let longestSecret = 1_024

  /// - Throws: a part is missing, too long, or has characters that none may have.
  init(accessKeyID: String?, secretAccessKey: String?, sessionToken: String?, expiry: Int64? = nil) throws(Unfit) {
    guard let accessKeyID, let secretAccessKey, !accessKeyID.isEmpty, !secretAccessKey.isEmpty else {
      throw Unfit(why: "it has no access key")
    }
    // The identifier stands in a field, between separators.
    let isPlain = accessKeyID.utf8.allSatisfy { byte in
      (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7a) || byte == UInt8(ascii: "_")
    }
    guard isPlain, accessKeyID.utf8.count <= Self.longestID else {
      throw Unfit(why: "its access key's identifier has characters that none may have")
    }
    guard TokenResponse.isAccessToken(Array(secretAccessKey.utf8)), secretAccessKey.utf8.count <= Self.longestSecret else {
      throw Unfit(why: "its secret access key is too long or has characters that none may have")
    }
    var session: Secret?
    if let sessionToken, !sessionToken.isEmpty {
      let bytes = Array(sessionToken.utf8)
      guard TokenResponse.isAccessToken(bytes), bytes.count <= TokenResponse.maximumToken else {
        throw Unfit(why: "its session token is too long or has characters that none may have")
      }
      session = Secret(bytes)
    }
    keys = AWSKeys(accessKeyID: accessKeyID, secretAccessKey: Secret(secretAccessKey), sessionToken: session)
    self.expiry = expiry
  }

  init(_ keys: AWSKeys, expiry: Int64? = nil) {
    self.keys = keys
    self.expiry = expiry
  }
}
