import Crypto
import SmallHTTP

/// Why a signature does not count.
struct SignatureProblem: Error {
  /// S3's name for it.
  var code = "SignatureDoesNotMatch"
  /// A clause; without secrets.
  let text: String
}

/// A request, and what its signature must be: AWS Signature Version 4 as S3 reads it. Written apart from the code that signs, which it
/// checks.
struct SignedRequest {
  struct Keys {
    let id: String
    let secret: [UInt8]
  }

  /// Seconds.
  private static let tolerance: Int64 = 900

  private let request: ServedRequest
  private let keys: Keys
  private let now: Int64

  /// - Parameter now: seconds since 1970.
  init(_ request: ServedRequest, _ keys: Keys, at now: Int64) {
    self.request = request
    self.keys = keys
    self.now = now
  }

  /// - Returns: the body without its chunks' frames.
  func check() throws(SignatureProblem) -> SignedBody {
    guard let field = request["authorization"] else { throw SignatureProblem(code: "AccessDenied", text: "no signature") }
    let scheme = "AWS4-HMAC-SHA256 "
    guard field.hasPrefix(scheme) else { throw SignatureProblem(code: "AccessDenied", text: "another scheme") }
    var parts: [String: String] = [:]
    for part in field.dropFirst(scheme.count).split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1)
      if pair.count == 2 { parts[String(pair[0].drop { $0 == " " })] = String(pair[1]) }
    }
    let time = try checkedTime()
    let scope = "\(time.prefix(8))/\(ObjectStore.region)/\(ObjectStore.service)/aws4_request"
    let credential = parts["Credential"] ?? ""
    guard credential.hasPrefix("\(keys.id)/") else {
      throw SignatureProblem(code: "InvalidAccessKeyId", text: "an access key that this store does not know")
    }
    guard credential == "\(keys.id)/\(scope)" else {
      throw SignatureProblem(text: "a signature for another day, region or service")
    }
    guard let payload = request["x-amz-content-sha256"] else { throw SignatureProblem(text: "no X-Amz-Content-Sha256") }
    let canonical = try canonicalRequest(signing: parts["SignedHeaders"] ?? "", payload)
    let signer = ChainedSignature(key: try key(for: scope), time: time, scope: scope)
    let expected = try signer.sign("AWS4-HMAC-SHA256", [Hexadecimal.text(SHA256.digest(Array(canonical.utf8)))])
    guard expected == parts["Signature"] else { throw SignatureProblem(text: "a wrong signature") }
    return try SignedBody(request, payload, signer, seed: expected)
  }

  // MARK: The string to sign

  /// `20150830T123600Z`
  private func checkedTime() throws(SignatureProblem) -> String {
    guard let time = request["x-amz-date"], let seconds = Self.seconds(of: Array(time.utf8)) else {
      throw SignatureProblem(code: "AccessDenied", text: "no time")
    }
    guard abs(seconds - now) <= Self.tolerance else {
      throw SignatureProblem(code: "RequestTimeTooSkewed", text: "a time that is not now")
    }
    return time
  }

  /// Since 1970.
  private static func seconds(of text: [UInt8]) -> Int64? {
    guard text.count == 16, text[8] == UInt8(ascii: "T"), text[15] == UInt8(ascii: "Z") else { return nil }
    func number(_ range: Range<Int>) -> Int64? { Int64(String(decoding: text[range], as: UTF8.self)) }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), let hour = number(9..<11),
      let minute = number(11..<13), let second = number(13..<15), (1...12).contains(month)
    else { return nil }
    // Years that begin in March: the leap day is the last.
    let march = month > 2 ? month - 3 : month + 9
    let years = month > 2 ? year : year - 1
    let days = 365 * years + years / 4 - years / 100 + years / 400 + (153 * march + 2) / 5 + day - 1 - 719_468
    return ((days * 24 + hour) * 60 + minute) * 60 + second
  }

  private func canonicalRequest(signing list: String, _ payload: String) throws(SignatureProblem) -> String {
    let names = list.split(separator: ";").map(String.init)
    guard names == names.sorted(), names.contains("host") else {
      throw SignatureProblem(text: "a signature that leaves Host out")
    }
    for field in request.fields where field.name.hasPrefix("x-amz-") && !names.contains(field.name) {
      throw SignatureProblem(text: "a signature that leaves \(field.name) out")
    }
    let fields = names.map { name in
      let values = request.fields.filter { $0.name == name }
      return "\(name):\(values.map { $0.value.split(separator: " ").joined(separator: " ") }.joined(separator: ","))\n"
    }
    let path = Self.encoded(request.path, keeping: "/")
    let lines = [request.method, path, canonicalQuery, fields.joined(), list, payload]
    return lines.joined(separator: "\n")
  }

  private var canonicalQuery: String {
    let query = request.target.dropFirst(request.path.count + 1)
    let pairs = query.split(separator: "&").map { pair in
      let name = pair.prefix { $0 != "=" }
      return (Self.encoded(String(name)), Self.encoded(String(pair.dropFirst(name.count + 1))))
    }
    return pairs.sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
  }

  /// Decoded, then encoded.
  private static func encoded(_ text: String, keeping kept: Character? = nil) -> String {
    let bytes = Form.bytes(Array(text.utf8)[...], spaceForPlus: false)
    return bytes.map { byte in
      let character = Character(UnicodeScalar(byte))
      let isPlain = character.isASCII && (character.isLetter || character.isNumber || "-._~".contains(character))
      return isPlain || character == kept ? String(character) : "%" + Hexadecimal.text([byte]).uppercased()
    }.joined()
  }

  private func key(for scope: String) throws(SignatureProblem) -> [UInt8] {
    var key = Array("AWS4".utf8) + keys.secret
    for part in scope.split(separator: "/") { key = try ChainedSignature.code(Array(part.utf8), key) }
    return key
  }
}

/// Signs texts of one time and scope.
struct ChainedSignature {
  let key: [UInt8]
  let time, scope: String

  func sign(_ kind: String, _ lines: [String]) throws(SignatureProblem) -> String {
    let text = ([kind, time, scope] + lines).joined(separator: "\n")
    return Hexadecimal.text(try Self.code(Array(text.utf8), key))
  }

  static func code(_ message: [UInt8], _ key: [UInt8]) throws(SignatureProblem) -> [UInt8] {
    do throws(OpenSSLError) { return try HMACSHA256.code(of: message, key: key) } catch {
      throw SignatureProblem(code: "InternalError", text: error.message)
    }
  }
}

enum Hexadecimal {
  static func text(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
