import Crypto
import JSON
import Synchronization

/// Mints the JWT that is a credential, on use, and keeps it for all loops: servers refuse whoever comes with new ones too often. An
/// RSA signature takes as long as many requests: while a thread makes the next one, the others go on with the last one. Without a last
/// one it is made under the lock, once for all that wait for it.
public final class JWTMint: Sendable {
  /// An origin, whose clock may differ from ours.
  public struct Peer: Sendable, Hashable {
    let isTLS: Bool
    let host: [UInt8]
    /// - Parameter host: with its port, in one spelling.
    public init(isTLS: Bool, host: [UInt8]) {
      self.isTLS = isTLS
      self.host = host
    }
  }

  public struct Instant: Sendable {
    /// Monotonic milliseconds.
    public let monotonic: Int64
    /// Seconds since 1970.
    public let wall: Int64
    public init(monotonic: Int64, wall: Int64) {
      self.monotonic = monotonic
      self.wall = wall
    }
  }

  public let policy: JWTPolicy
  /// Most bytes of a line.
  public let sizeLimit: Int
  private let key: Key
  /// The field's name, and the format up to the JWT.
  private let prefix: [UInt8]
  /// The format behind it, and CRLF.
  private let suffix: [UInt8]
  /// Encoded (RFC 7515 section 3.1).
  private let header: [UInt8]
  /// The claims that do not change, without the closing brace.
  private let claims: [UInt8]
  private let state = Mutex(State())

  private enum Key: Sendable {
    case privateKey(PrivateKey, PrivateKey.JWSAlgorithm)
    case secret([UInt8], HashAlgorithm)
  }

  private struct State {
    /// For all origins but those below.
    var common = Clock()
    var corrected: [Peer: Clock] = [:]
  }

  private struct Clock {
    /// Seconds by which the origin's clock is ahead of ours.
    var offset: Int64 = 0
    var line: [UInt8]?
    /// When that line was minted, by both clocks.
    var minted = Instant(monotonic: 0, wall: 0)
    /// When it was corrected, in monotonic milliseconds.
    var corrected: Int64?
    /// A thread makes the next one.
    var isMinting = false
  }

  /// A field line with a JWT.
  public struct Issued: Sendable {
    /// The whole line, with CRLF.
    public let line: [UInt8]
    /// Seconds that were added to our clock.
    public let offset: Int64
  }

  /// Below a wildcard each host is an origin of its own.
  private static let maximumPeers = 1_024
  /// Seconds. Larger differences are no matter of running ahead: the JWT would be valid at others for too long.
  public static let largestCorrection: Int64 = 900
  /// Seconds by which clocks may differ.
  public static let tolerance: Int64 = 30

  /// - Throws: `unusableKey`, and what is wrong with the field.
  public init(_ policy: JWTPolicy) throws(CredentialError) {
    self.policy = policy
    let signatureLimit: Int
    switch policy.key {
    case .secret(let secret):
      guard let hash = policy.algorithm.keyedHash, !secret.isEmpty else { throw .unusableKey }
      key = .secret(secret.bytes, hash)
      signatureLimit = hash.size
    case .privateKey(let pem, let passphrase):
      guard let algorithm = PrivateKey.JWSAlgorithm(rawValue: policy.algorithm.rawValue),
        let opened = try? PrivateKey(pem: pem.bytes, passphrase: passphrase?.bytes), opened.jwsAlgorithms.contains(algorithm)
      else { throw .unusableKey }
      key = .privateKey(opened, algorithm)
      signatureLimit = opened.signatureLimit
    }
    // A JWT has neither blanks nor controls, so any text in its place tells whether the field can be written.
    _ = try CredentialRenderer.header(
      name: policy.field, value: Secret("x"), format: policy.format, placeholder: JWTPolicy.placeholder)
    let pieces = CredentialRenderer.split(Array(policy.format.utf8), at: Array(JWTPolicy.placeholder.utf8))
    guard pieces.count == 2 else { throw .badFormat }
    prefix = Array(policy.field.utf8) + [0x3a, 0x20] + pieces[0]
    suffix = pieces[1] + [0x0d, 0x0a]
    header = Base64.encodeURL(JSONValue.object(Self.header(of: policy)).text)
    claims = Self.claims(of: policy.claims)
    // Two numbers of at most 20 digits, their names and the brace.
    let text = header.count + (claims.count + 64 + signatureLimit) * 4 / 3 + 16
    sizeLimit = prefix.count + text + suffix.count
    guard sizeLimit <= CredentialRenderer.maximumValue else { throw .tooLong }
  }

  private static func header(of policy: JWTPolicy) -> [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      .init(name: "alg", value: .string(policy.algorithm.rawValue)), .init(name: "typ", value: .string("JWT")),
    ]
    if let keyID = policy.keyID { members.append(.init(name: "kid", value: .string(keyID))) }
    return members
  }

  private static func claims(of claims: JWTPolicy.Claims) -> [UInt8] {
    var json = [UInt8(ascii: "{")]
    for (name, value) in [("iss", claims.issuer), ("sub", claims.subject), ("aud", claims.audience)] {
      guard let value else { continue }
      JSONString.append(name, to: &json)
      json.append(UInt8(ascii: ":"))
      JSONString.append(value, to: &json)
      json.append(UInt8(ascii: ","))
    }
    for (name, value) in claims.more {
      JSONString.append(name, to: &json)
      json.append(UInt8(ascii: ":"))
      json += Array(value.utf8)
      json.append(UInt8(ascii: ","))
    }
    return json
  }

  // MARK: On use

  /// The JWT that is in use, or a new one.
  public func issue(for peer: Peer, at now: Instant) throws(OpenSSLError) -> Issued {
    let (issued, due) = try state.withLock { state throws(OpenSSLError) in
      if !state.corrected.isEmpty, var clock = state.corrected[peer] {
        defer { state.corrected[peer] = clock }
        return try look(at: &clock, .own, now)
      }
      return try look(at: &state.common, .common, now)
    }
    return due.map { renew(issued, $0, of: peer, at: now) } ?? issued
  }

  private enum Place { case common, own }

  /// - Returns: `due`: the caller makes the next one.
  private func look(at clock: inout Clock, _ place: Place, _ now: Instant) throws(OpenSSLError) -> (Issued, due: Place?) {
    if let line = clock.line, let age = age(of: clock.minted, at: now), age < policy.latest {
      let isDue = age >= policy.renewal && !clock.isMinting
      if isDue { clock.isMinting = true }
      return (Issued(line: line, offset: clock.offset), isDue ? place : nil)
    }
    let line = try line(at: now.wall + clock.offset)
    clock.line = line
    clock.minted = now
    return (Issued(line: line, offset: clock.offset), nil)
  }

  /// Makes the next one without the lock. If that fails, the last one is still good.
  private func renew(_ last: Issued, _ place: Place, of peer: Peer, at now: Instant) -> Issued {
    let line = try? line(at: now.wall + last.offset)
    func settle(_ clock: inout Clock) {
      clock.isMinting = false
      // The origin's clock may have been corrected meanwhile, or another thread may have found that ours was set.
      guard let line, clock.offset == last.offset, clock.line == nil || clock.line == last.line else { return }
      clock.line = line
      clock.minted = now
    }
    state.withLock { state in
      switch place {
      case .common: settle(&state.common)
      case .own: if state.corrected[peer] != nil { settle(&state.corrected[peer, default: Clock()]) }
      }
    }
    return line.map { Issued(line: $0, offset: last.offset) } ?? last
  }

  /// Milliseconds; nil: somebody has set our clock, or the machine slept.
  private func age(of minted: Instant, at now: Instant) -> Int64? {
    let age = now.monotonic - minted.monotonic
    return abs((now.wall - minted.wall) * 1000 - age) > Self.tolerance * 1000 ? nil : age
  }

  private func line(at time: Int64) throws(OpenSSLError) -> [UInt8] { prefix + (try mint(at: time)) + suffix }

  /// - Parameter time: seconds since 1970, at the origin.
  private func mint(at time: Int64) throws(OpenSSLError) -> [UInt8] {
    let issued = time - Int64(policy.backdate / 1000)
    var json = claims
    json += Array("\"iat\":\(issued)".utf8)
    if policy.expires { json += Array(",\"exp\":\(issued + Int64(policy.lifetime / 1000))".utf8) }
    json.append(UInt8(ascii: "}"))
    let input = header + [UInt8(ascii: ".")] + Base64.encodeURL(json)
    let signature =
      switch key {
      case .privateKey(let key, let algorithm): try key.sign(input, as: algorithm)
      case .secret(let secret, let hash): try KeyedHash(hash, key: secret).code(of: input)
      }
    return input + [UInt8(ascii: ".")] + Base64.encodeURL(signature)
  }

  // MARK: Refusals

  /// An origin has refused a JWT of this mint.
  /// - Parameter now: monotonic milliseconds.
  /// - Returns: whether the next line has another one. Not if the present one is young: a new one would not please more.
  public func replaceRefused(at now: Int64) -> Bool {
    state.withLock { state in
      var isReplaced = false
      func judge(_ clock: inout Clock) {
        guard clock.line != nil, now - clock.minted.monotonic >= policy.shortestAge else { return }
        clock.line = nil
        isReplaced = true
      }
      judge(&state.common)
      for (peer, clock) in state.corrected {
        var clock = clock
        judge(&clock)
        state.corrected[peer] = clock
      }
      return isReplaced
    }
  }

  /// An origin's answer tells its clock.
  /// - Parameter used: the offset of the JWT that it has refused.
  /// - Returns: whether the next line for it has a time that fits. Others may have corrected the clock since that JWT was sent.
  public func correct(_ peer: Peer, _ reading: ClockReading, used: Int64, at now: Instant) -> Bool {
    let told = ClockReading(
      offset: max(-Self.largestCorrection, min(Self.largestCorrection, reading.offset)), uncertainty: reading.uncertainty)
    guard told.differs(from: used, by: Self.tolerance) else { return false }
    return state.withLock { state in
      let known = state.corrected[peer]
      guard told.differs(from: known?.offset ?? 0, by: Self.tolerance) else { return true }
      // A clock that jumps must not make us mint for each request.
      if let last = known?.corrected, now.monotonic - last < policy.shortestAge { return false }
      if known == nil, state.corrected.count >= Self.maximumPeers { state.corrected.remove(at: state.corrected.startIndex) }
      state.corrected[peer] = Clock(offset: told.offset, corrected: now.monotonic)
      return true
    }
  }
}

extension JWTMint: Hashable {
  public static func == (left: JWTMint, right: JWTMint) -> Bool { left.policy == right.policy }
  public func hash(into hasher: inout Hasher) { hasher.combine(policy) }
}

extension JWTMint: CustomStringConvertible, CustomReflectable {
  public var description: String { "<mint of JWTs>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}
