import Synchronization

/// One version of a credential, ready to be written into a request's head. Shared by all loops, never changed but by
/// `withdraw`.
public final class RenderedCredential: Sendable {
  /// Of the configuration's `credentials`; for logs and metrics.
  public let name: String
  /// As it is spelled in `line`.
  public let fieldName: [UInt8]
  /// The whole field line, `Authorization: Bearer ...` and CRLF; of what signs requests (`material`), what every request carries.
  public let line: [UInt8]
  /// Grows by one with each new value of this credential; a number that was replaced never comes back.
  public let version: UInt64
  /// Monotonic milliseconds; from then on it must not be sent. `never` where it does not expire.
  public let expiry: Int64
  /// Monotonic milliseconds; a request that comes later should tell the owner with `need`, and goes on with this version.
  public let refreshAt: Int64

  /// What each request is signed with; nil: the line is all.
  public let material: SigningMaterial?

  /// What each request proves in addition to the line; nil: the line is all.
  public let proof: TokenProof?

  /// `expiry`, until it is withdrawn.
  @usableFromInline let end: Atomic<Int64>

  public static let never = Int64.max

  init(
    name: String, content: RenderedContent, version: UInt64, expiry: Int64 = never, refreshAt: Int64 = never,
    proof: TokenProof? = nil
  ) {
    self.name = name
    switch content {
    case .field(let field):
      fieldName = field.name
      line = field.line
      material = nil
    case .material(let material):
      fieldName = []
      line = material.line
      self.material = material
    }
    self.version = version
    self.expiry = expiry
    end = Atomic(expiry)
    self.refreshAt = refreshAt
    self.proof = proof
  }

  /// A credential without a fixed line.
  public convenience init(name: String, material: SigningMaterial, version: UInt64) {
    self.init(name: name, content: .material(material), version: version)
  }

  var content: RenderedContent {
    if let material { .material(material) } else { .field(RenderedField(name: fieldName, line: line)) }
  }

  @inlinable public func isUsable(at now: Int64) -> Bool { now < end.load(ordering: .relaxed) }

  /// Nobody may send it any more: its login is over. For all threads, at once.
  public func withdraw() { end.store(.min, ordering: .relaxed) }
}

extension RenderedCredential: CustomStringConvertible, CustomReflectable {
  public var description: String { "<credential \(name), version \(version)>" }
  public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// A token that is worth nothing without the key it is bound to (RFC 9449).
public struct TokenProof: Sendable {
  public let key: DPoPKey
  /// `ath` of its proofs.
  public let tokenHash: [UInt8]

  init(_ key: DPoPKey, for token: Secret) {
    self.key = key
    tokenHash = DPoPKey.hash(of: token)
  }
}

/// What a credential's value is, apart from version and expiry.
enum RenderedContent: Sendable, Hashable {
  case field(RenderedField)
  case material(SigningMaterial)
}

/// A field name and its whole line: what a credential's value looks like on the wire, apart from version and expiry.
struct RenderedField: Sendable, Hashable {
  var name: [UInt8]
  var line: [UInt8]
}
