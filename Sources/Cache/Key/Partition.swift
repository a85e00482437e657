/// Says whose stored answers a request may meet. Nothing crosses partitions, neither stored nor in flight.
public final class Partition: Sendable {
  /// Who asks, where an answer serves its own client only.
  public enum Client: Sendable, Hashable {
    case name(String)
    case address([UInt8])
    /// On a Unix socket.
    case user(UInt32)

    fileprivate var part: [UInt8] {
      switch self {
      case .name(let name): [1] + Array(name.utf8)
      case .address(let address): [2] + address
      case .user(let user): [3] + Swift.withUnsafeBytes(of: user.bigEndian) { Array($0) }
      }
    }
  }

  /// The authority that an app has asked for.
  public struct Asked: Sendable, Hashable {
    /// As the router takes it.
    public let host: String
    public let port: UInt16
    /// Host as the origin gets it, lower-case; empty: it is the origin's own.
    let field: [UInt8]

    public init(host: String, port: UInt16, field: [UInt8]) {
      self.host = host
      self.port = port
      self.field = field.map(lowerCase)
    }

    fileprivate var parts: [[UInt8]] { [Array(host.utf8), Array("\(port)".utf8), field] }
  }

  /// What all requests of an entry have in common, for one of its matches and origins. Made with the configuration.
  public struct Base: Sendable, Hashable {
    /// Name of the entry, as in `purge`.
    public var entry: String
    /// `scheme://host:port` of the origin, lower-case.
    public var origin: [UInt8]
    /// Digests of what the trust policy and the client certificate contain; empty: none.
    public var trust, certificate: [UInt8]
    /// Digest of the keys that shape request or answer: rewrite, decompress, header rules, paths, host_header, ignored fields.
    public var rules: [UInt8]
    /// The match that the request came by, as text.
    public var match: String
    /// nil: answers do not depend on it beyond the match.
    public var asked: Asked?
    public var share: CacheRules.Share

    public init(
      entry: String, origin: [UInt8], trust: [UInt8], certificate: [UInt8], rules: [UInt8], match: String,
      asked: Asked? = nil, share: CacheRules.Share
    ) {
      self.entry = entry
      self.origin = origin
      self.trust = trust
      self.certificate = certificate
      self.rules = rules
      self.match = match
      self.asked = asked
      self.share = share
    }
  }

  public let id: CacheDigest
  public let base: Base
  /// Digest of the origin: invalidation meets all partitions of one.
  public let origin: CacheDigest
  /// Says who we are to the origin, not with which token. `none`: without a credential.
  public let credential: CacheDigest
  /// nil where answers serve several clients.
  public let client: Client?

  /// - Parameters:
  ///   - credential: see `CredentialIdentity`.
  ///   - takesGzip: whether the app takes gzip; only with `decompress`, else nil.
  ///   - client: who asks; does not count where an answer serves several clients.
  public init(_ base: Base, credential: CacheDigest, takesGzip: Bool?, client: Client) {
    self.base = base
    self.credential = credential
    origin = CacheDigest(parts: [base.origin])
    self.client = base.share == .client ? client : nil
    let share: UInt8 =
      switch base.share {
      case .client: 1
      case .everyone: 2
      case .all: 3
      case .credential: 4
      }
    let parts: [[UInt8]] = [
      Array(base.entry.utf8), base.origin, base.trust, base.certificate, base.rules, Array(base.match.utf8), [share],
      credential.bytes, [takesGzip.map { $0 ? 1 : 2 } ?? 0], self.client?.part ?? [],
    ]
    id = CacheDigest(parts: parts + (base.asked?.parts ?? []))
  }
}

/// What a kind of credential says about who we are to an origin.
public enum CredentialIdentity {
  /// A value that its owner wrote: a changed one is another identity.
  public static func ofValue(_ value: [UInt8]) -> CacheDigest { CacheDigest(parts: [[1], value]) }

  /// OAuth: what names the account, but no token, or each hour's token would empty the store. `login`: of the login or the first
  /// refresh token; each begins another identity.
  public static func ofAccount(_ parts: [[UInt8]], login: [UInt8]) -> CacheDigest { CacheDigest(parts: [[2], login] + parts) }
}
