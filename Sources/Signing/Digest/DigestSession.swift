import Credentials
import Crypto
import HTTPWire

/// What a server's last challenge said, and how often its nonce was used: what the answers of one protection space are made of. For one
/// thread. Has secrets.
public final class DigestSession {
  public private(set) var rules: DigestChallenge.Rules
  public private(set) var nonce: [UInt8]
  private var opaque: [UInt8]?
  /// Answers with this nonce.
  private var count: UInt32 = 0
  /// Counts of earlier nonces, by their hash.
  private var earlier: [Int: UInt32] = [:]
  /// Their hashes in a ring.
  private var order: [Int] = []
  private var oldest = 0
  private let room: NonceRoom
  /// H(A1) in hexadecimal, and the version of the credential that it was made of.
  private var secret: (hash: [UInt8], version: UInt64)?
  /// The session's, if the challenge has it in the secret.
  private var clientNonce: [UInt8] = []

  /// - Parameter room: for the counts of nonces; other sessions may share it.
  public init(_ challenge: DigestChallenge, room: NonceRoom = NonceRoom()) {
    self.room = room
    rules = challenge.rules
    nonce = challenge.nonce
    opaque = challenge.opaque
  }

  deinit { room.giveBack(all: order.count) }

  /// The server has challenged again.
  public func take(_ challenge: DigestChallenge) {
    // RFC 7616 section 3.4.2: with `-sess`, a challenge begins another session.
    if challenge.rules != rules || rules.isSession { secret = nil }
    rules = challenge.rules
    opaque = challenge.opaque
    use(challenge.nonce)
  }

  /// The server names the nonce of the next request (RFC 7616 section 3.5). The session goes on.
  /// - Parameter info: of Authentication-Info.
  public func take(info: Challenge, in head: UnsafeRawBufferPointer) {
    guard !info.isMalformed, let next = info.text("nextnonce", in: head), !next.isEmpty,
      QuotedText.size(rules.realm) + QuotedText.size(next) + QuotedText.size(opaque ?? []) <= DigestChallenge.sizeLimit
    else { return }
    use(next)
  }

  private func use(_ next: [UInt8]) {
    if next == nonce { return }
    remember()
    // No count is used twice with a nonce.
    count = earlier[next.hashValue] ?? 0
    nonce = next
  }

  private func remember() {
    if count == 0 { return }
    let hash = nonce.hashValue
    guard earlier.updateValue(count, forKey: hash) == nil else { return }
    if room.grows(from: order.count) { return order.append(hash) }
    earlier[order[oldest]] = nil
    order[oldest] = hash
    oldest = (oldest + 1) % order.count
  }

  /// All counts of the nonce are used: the server has to name another.
  public var isUsedUp: Bool { count == .max }

  // MARK: Answers

  /// Fresh, for each answer.
  public static func newClientNonce() throws(OpenSSLError) -> [UInt8] { HashFunction.hex(try SecureRandom.bytes(16)) }

  /// Bytes that `answer` writes at most.
  /// - Parameter target: bytes of the request's target.
  public static func sizeLimit(target: Int) -> Int {
    // The longest form of a user name is percent-encoded.
    DigestChallenge.sizeLimit + 3 * DigestPolicy.maximumUserName + 2 * target + 512
  }

  /// A request as it is answered for.
  public struct Request {
    let method: UnsafeRawBufferPointer
    let target: UnsafeRawBufferPointer
    /// Needed if the rules protect it.
    let body: Body

    public enum Body {
      case bytes(UnsafeRawBufferPointer)
      /// By the rules' algorithm.
      case digest([UInt8])
    }

    public init(method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, body: Body) {
      self.method = method
      self.target = target
      self.body = body
    }
  }

  /// Writes the value of Authorization or Proxy-Authorization, and counts it.
  /// - Parameters:
  ///   - version: of the credential; another one has another policy.
  ///   - fresh: random, in hexadecimal.
  /// - Throws: OpenSSL does not have the algorithm.
  public func answer(
    _ request: Request, by policy: DigestPolicy, version: UInt64, clientNonce fresh: [UInt8], hashes: DigestHashes,
    into writer: inout ByteWriter
  ) throws(OpenSSLError) {
    let hash = try hashes(rules.algorithm)
    let username = Array(policy.username.utf8)
    let secret = secret(username, policy.password.bytes, version, fresh, hash)
    let clientNonce = rules.isSession ? clientNonce : fresh
    count += 1
    let countText = countText
    let response = response(to: request, secret, countText, clientNonce, hash)

    writer.append("Digest ")
    write(username, hash, into: &writer)
    writer.append(", realm=")
    writer.append(quoted: rules.realm)
    writer.append(", nonce=")
    writer.append(quoted: nonce)
    writer.append(", uri=")
    writer.append(quoted: request.target)
    if rules.protection != .legacy {
      writer.append(", qop=")
      writer.append(rules.protection.name)
      writer.append(", nc=")
      writer.append(countText)
    }
    // Without it, a server that knows no `qop` could not check a session's answer.
    if rules.protection != .legacy || rules.isSession {
      writer.append(", cnonce=")
      writer.append(quoted: clientNonce)
    }
    writer.append(", response=")
    writer.append(quoted: response)
    if let opaque {
      writer.append(", opaque=")
      writer.append(quoted: opaque)
    }
    if rules.namesAlgorithm {
      writer.append(", algorithm=")
      writer.append(rules.algorithm.text)
      if rules.isSession { writer.append("-sess") }
    }
    if rules.hashesUserName { writer.append(", userhash=true") }
  }

  /// H(A1) of RFC 7616 section 3.4.2.
  private func secret(
    _ username: [UInt8], _ password: [UInt8], _ version: UInt64, _ fresh: [UInt8], _ hash: HashFunction
  ) -> [UInt8] {
    if let secret, secret.version == version { return secret.hash }
    var made = hash.joined(username, rules.realm, password)
    if rules.isSession {
      clientNonce = fresh
      made = hash.joined(made, nonce, fresh)
    }
    secret = (made, version)
    return made
  }

  /// RFC 7616 section 3.4.1.
  private func response(
    to request: Request, _ secret: [UInt8], _ countText: [UInt8], _ clientNonce: [UInt8], _ hash: HashFunction
  ) -> [UInt8] {
    var body: [UInt8] = []
    if rules.protection == .body {
      switch request.body {
      case .bytes(let bytes):
        hash.update(bytes)
        body = hash.finishHex()
      case .digest(let digest): body = HashFunction.hex(digest)
      }
    }
    hash.update(request.method)
    hash.update(UInt8(ascii: ":"))
    hash.update(request.target)
    if rules.protection == .body {
      hash.update(UInt8(ascii: ":"))
      hash.update(body)
    }
    let message = hash.finishHex()
    if rules.protection == .legacy { return hash.joined(secret, nonce, message) }
    return hash.joined(secret, nonce, countText, clientNonce, Array(rules.protection.name.bytes), message)
  }

  private var countText: [UInt8] {
    withUnsafeBytes(of: count.bigEndian) { HashFunction.hex(Array($0)) }
  }

  private func write(_ username: [UInt8], _ hash: HashFunction, into writer: inout ByteWriter) {
    if rules.hashesUserName {
      writer.append("username=")
      writer.append(quoted: hash.joined(username, rules.realm))
    } else if rules.isUTF8, username.contains(where: { $0 >= 0x80 }) {
      // RFC 7616 section 3.4, RFC 8187 section 3.2.1
      writer.append("username*=UTF-8''")
      for byte in username { writer.append(extended: byte) }
    } else {
      writer.append("username=")
      writer.append(quoted: username)
    }
  }
}

extension DigestChallenge.Protection {
  fileprivate var name: StaticString {
    switch self {
    case .request: "auth"
    case .body: "auth-int"
    case .legacy: ""
    }
  }
}

extension StaticString {
  fileprivate var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: utf8Start, count: utf8CodeUnitCount) }
}

extension ByteWriter {
  /// `value-chars` of RFC 8187.
  fileprivate mutating func append(extended byte: UInt8) {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
      append(byte: byte)
    default:
      append(byte: UInt8(ascii: "%"))
      for nibble in [byte >> 4, byte & 15] {
        append(byte: nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "A") + nibble - 10)
      }
    }
  }
}
