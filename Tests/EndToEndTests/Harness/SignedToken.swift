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
    let folder = try Surroundings.newFolder()
    // RFC 7518 section 3.4: ECDSA is r and s side by side; openssl needs them in DER.
    let half = signature.count / 2
    let isPair = algorithm?.hasPrefix("ES") == true
    let bytes = isPair ? Self.sequence([signature.prefix(half), signature.suffix(half)]) : signature
    try bytes.write(to: URL(fileURLWithPath: folder + "/signature"))
    try Data(signed.utf8).write(to: URL(fileURLWithPath: folder + "/signed"))
    let options: [String: [String]] = [
      "RS256": ["-sha256"], "ES256": ["-sha256"], "ES384": ["-sha384"],
      "PS256": ["-sha256", "-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"],
    ]
    let arguments: [String]
    if let options = options[algorithm ?? ""] {
      arguments = ["dgst"] + options + ["-verify", publicKey, "-signature", folder + "/signature", folder + "/signed"]
    } else {
      arguments = [
        "pkeyutl", "-verify", "-pubin", "-inkey", publicKey, "-rawin", "-in", folder + "/signed", "-sigfile",
        folder + "/signature",
      ]
    }
    return try ChildProcess.run("openssl", arguments).status == .exited(0)
  }

  /// HS256, by `openssl`, too.
  func isSigned(with secret: String) throws -> Bool {
    let done = try ChildProcess.run(
      "openssl", ["dgst", "-sha256", "-mac", "HMAC", "-macopt", "key:\(secret)", "-r"], input: signed)
    return algorithm == "HS256" && done.output.hasPrefix(signature.map { String(format: "%02x", $0) }.joined())
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
  static let algorithms = ["RS256", "PS256", "ES256", "ES384", "EdDSA"]

  static func make(_ algorithm: String) throws -> (privateKey: String, publicKey: String) {
    let options =
      switch algorithm {
      case "ES256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
      case "ES384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
      case "EdDSA": ["-algorithm", "ED25519"]
      default: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
      }
    let path = try Surroundings.newFolder() + "/\(algorithm).pem"
    _ = try ChildProcess.run("openssl", ["genpkey"] + options + ["-out", path])
    _ = try ChildProcess.run("openssl", ["pkey", "-in", path, "-pubout", "-out", path + ".pub"])
    return (path, path + ".pub")
  }
}
