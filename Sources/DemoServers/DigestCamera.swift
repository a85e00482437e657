import Crypto
import JSON
import SmallHTTP

/// A camera that wants Digest with SHA-256 (RFC 7616), and forgets its nonces early.
public final class DigestCamera: Responder {
  private static let realm = "camera"

  private let user: String
  /// H(A1): a server needs no password.
  private let secret: String
  private let lifetime: Int
  private let tell: (DemoEvent) -> Void
  /// How often each was used, under the nonce.
  private var nonces = Expiring<Int>()
  private var old = Expiring<Void>()

  /// - Parameter lifetime: seconds of a nonce.
  public init(user: String, password: String, lifetime: Int, tell: @escaping (DemoEvent) -> Void) {
    self.user = user
    self.lifetime = lifetime
    self.tell = tell
    secret = Self.hash("\(user):\(Self.realm):\(password)")
  }

  override public func answer(_ request: ServedRequest) -> ServedAnswer {
    let asked = "\(request.method) \(request.target)"
    guard let field = request["authorization"], let answer = Self.parameters(field) else { return refuse(asked, "no answer") }
    let nonce = answer["nonce"] ?? ""
    let expected = Self.hash(
      [secret, nonce, answer["nc"] ?? "", answer["cnonce"] ?? "", "auth", Self.hash("\(request.method):\(request.target)")]
        .joined(separator: ":"))
    guard answer["response"] == expected, answer["username"] == user, answer["uri"] == request.target else {
      return refuse(asked, "a wrong answer")
    }
    guard let used = nonces[nonce] else {
      return old[nonce] == nil ? refuse(asked, "an unknown nonce") : refuse(asked, "a nonce that is too old", isStale: true)
    }
    guard let count = Int(answer["nc"] ?? "", radix: 16), count > used else {
      return refuse(asked, "a count that was used", isStale: true)
    }
    nonces[nonce] = count
    tell(DemoEvent(source: .camera, text: "\(asked) with answer \(count) to its nonce: 200"))
    return ServedAnswer(
      200, json: ["message": .string("a picture"), "you_asked": .string(asked), "accepted": .string("answer \(count)")])
  }

  private func refuse(_ asked: String, _ what: String, isStale: Bool = false) -> ServedAnswer {
    guard let nonce = try? TokenBook.randomText() else { return ServedAnswer(500, json: ["error": .string("no random bytes")]) }
    nonces.put(0, under: nonce, seconds: lifetime)
    old.put((), under: nonce, seconds: 100 * lifetime)
    tell(DemoEvent(source: .camera, text: "\(asked) with \(what): 401 and a new nonce"))
    let stale = isStale ? ", stale=true" : ""
    return ServedAnswer(
      401,
      fields: [
        ("WWW-Authenticate", "Digest realm=\"\(Self.realm)\", nonce=\"\(nonce)\", algorithm=SHA-256, qop=\"auth\"\(stale)")
      ], json: ["error": .string("this camera wants Digest")])
  }

  /// Of a field that the demo's proxy wrote: without escapes.
  private static func parameters(_ field: String) -> [String: String]? {
    guard field.lowercased().hasPrefix("digest ") else { return nil }
    var parameters: [String: String] = [:]
    for part in field.dropFirst(7).split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
      guard pair.count == 2 else { return nil }
      let name = String(pair[0].drop { $0 == " " })
      parameters[name] = String(pair[1].filter { $0 != "\"" })
    }
    return parameters
  }

  /// SHA-256 in hexadecimal.
  private static func hash(_ text: String) -> String {
    Hexadecimal.text(SHA256.digest(Array(text.utf8)))
  }
}
