import Foundation

/// A JWT from its receiver's view. The `openssl` command, which shares no code with the program, checks its signature.
struct SignedToken {
  let head: [String: Any]
  let claims: [String: Any]
  private let signed: String
  private let signature: Data

  init(_ text: String) throws {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 3, let signature = Self.decoded(parts[2]) else { throw HarnessError("no JWT: \(text)") }
    head = try Self.json(parts[0])
    claims = try Self.json(parts[1])
    signed = parts[0] + "." + parts[1]
    self.signature = signature
  }

  var algorithm: String? { head["alg"] as? String }
  func claim(_ name: String) -> String? { claims[name] as? String }
  func time(_ name: String) -> Int { claims[name] as? Int ?? 0 }

  /// - Parameter publicKey: a PEM file.
  func isSigned(by publicKey: String) throws -> Bool {
    let path = try Surroundings.newFolder() + "/signature"
    // RFC 7518 section 3.4: ES256 is r and s side by side; openssl needs them in DER.
    let bytes = algorithm == "ES256" ? Self.sequence([signature.prefix(32), signature.suffix(32)]) : signature
    try bytes.write(to: URL(fileURLWithPath: path))
    let done = try ChildProcess.run("openssl", ["dgst", "-sha256", "-verify", publicKey, "-signature", path], input: signed)
    return done.status == .exited(0)
  }

  private static func sequence(_ numbers: [Data]) -> Data {
    let body = numbers.reduce(into: Data()) { result, number in
      var digits = Data(number.drop { $0 == 0 })
      if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
      result += [0x02, UInt8(digits.count)] + digits
    }
    return Data([0x30, UInt8(body.count)]) + body
  }

  private static func decoded(_ part: String) -> Data? {
    var text = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while text.utf8.count % 4 != 0 { text += "=" }
    return Data(base64Encoded: text)
  }

  private static func json(_ part: String) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: decoded(part) ?? Data()) as? [String: Any] ?? [:]
  }
}

/// A new private key and its public key, as PEM files.
enum TokenKey {
  static func make(_ algorithm: String) throws -> (privateKey: String, publicKey: String) {
    let options =
      algorithm == "RS256"
      ? ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"] : ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    let path = try Surroundings.newFolder() + "/\(algorithm).pem"
    _ = try ChildProcess.run("openssl", ["genpkey"] + options + ["-out", path])
    _ = try ChildProcess.run("openssl", ["pkey", "-in", path, "-pubout", "-out", path + ".pub"])
    return (path, path + ".pub")
  }
}
