import Crypto

/// A proof that the sender of one request has the key (RFC 9449 section 4.2), before it is signed. Each request needs its own,
/// a repeated one too.
public struct DPoPProof: Sendable, Hashable {
  /// `jti`: base64url of 128 random bits.
  var identifier: [UInt8]
  /// `htm`: a method (RFC 9110 section 9.1), so without characters that JSON escapes.
  var method: [UInt8]
  /// `htu`: visible ASCII, without query and fragment.
  var uri: [UInt8]
  /// `iat`, Unix seconds.
  var issuedAt: Int64
  /// `ath`: of the access token that goes with the request; nil for token requests.
  var tokenHash: [UInt8]?
  /// `nonce`: the server's latest, judged by `DPoPNonce`; nil: it has named none.
  var nonce: [UInt8]?

  /// - Parameters:
  ///   - uri: visible ASCII; query and fragment are cut off.
  ///   - wall: Unix seconds.
  public init(
    method: some Sequence<UInt8>, uri: [UInt8], wall: Int64, tokenHash: [UInt8]? = nil, nonce: [UInt8]? = nil
  ) throws(OpenSSLError) {
    identifier = Base64.encodeURL(try SecureRandom.bytes(16))
    self.method = Array(method)
    self.uri = Self.withoutQuery(uri)
    issuedAt = wall
    self.tokenHash = tokenHash
    self.nonce = nonce
  }

  /// For known answers.
  init(identifier: [UInt8], method: [UInt8], uri: [UInt8], issuedAt: Int64, tokenHash: [UInt8]?, nonce: [UInt8]?) {
    self.identifier = identifier
    self.method = method
    self.uri = uri
    self.issuedAt = issuedAt
    self.tokenHash = tokenHash
    self.nonce = nonce
  }

  /// Most bytes of a signed proof.
  /// - Parameters:
  ///   - uri: bytes of the whole URI.
  ///   - method: bytes of the method.
  public static func sizeLimit(method: Int, uri: Int) -> Int {
    // Each byte of a URI may be escaped by another one. 512 bytes are enough for the header and the signature.
    512 + (method + 2 * uri + DPoPNonce.maximum + 192) * 4 / 3
  }

  /// The JWT (RFC 7515 section 7.1).
  public func signed(by signer: P256Signer, of key: DPoPKey) throws(OpenSSLError) -> [UInt8] {
    var text = signingInput(key.header)
    let signature = try signer.sign(text)
    text.append(UInt8(ascii: "."))
    text += Base64.encodeURL(signature)
    return text
  }

  /// - Parameter header: encoded.
  func signingInput(_ header: [UInt8]) -> [UInt8] {
    let claims = Base64.encodeURL(claims)
    var text: [UInt8] = []
    text.reserveCapacity(header.count + claims.count + 90)
    text += header
    text.append(UInt8(ascii: "."))
    text += claims
    return text
  }

  var claims: [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(160 + method.count + uri.count + (nonce?.count ?? 0))
    func add(_ text: StaticString, _ value: [UInt8]) {
      text.withUTF8Buffer { json.append(contentsOf: $0) }
      json += value
    }
    add(#"{"jti":""#, identifier)
    add(#"","htm":""#, method)
    add(#"","htu":""#, Self.escaped(uri))
    add(#"","iat":"#, Array("\(issuedAt)".utf8))
    if let tokenHash {
      add(#","ath":""#, tokenHash)
      add("\"", [])
    }
    if let nonce {
      add(#","nonce":""#, nonce)
      add("\"", [])
    }
    add("}", [])
    return json
  }

  private static func withoutQuery(_ uri: [UInt8]) -> [UInt8] {
    guard let end = uri.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else { return uri }
    return Array(uri[..<end])
  }

  /// Visible ASCII as a JSON string's content.
  private static func escaped(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else { return text }
    var escaped: [UInt8] = []
    for byte in text {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { escaped.append(UInt8(ascii: "\\")) }
      escaped.append(byte)
    }
    return escaped
  }
}

/// A server's nonce for proofs (RFC 9449 section 8).
public enum DPoPNonce {
  /// Bytes. Each request of a client carries it.
  public static let maximum = 2_048

  /// 1*NQCHAR (section 8.1), of bounded length. Others are not kept: no server issues them.
  public static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
    (1...maximum).contains(bytes.count)
      && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  }
}
