/// What a server must prove before it gets a byte of a request: all evaluators must pass for one verified chain.
///
/// The value cannot contradict itself: the configuration's reader refuses contradictions (an empty pin set, `disabled` with
/// other evaluators, revocation without a validated chain).
public struct TrustPolicy: Sendable, Hashable {
  public var name: String
  public var anchors: Anchors
  public var minimumVersion: TLSVersion
  /// In the order of the configuration. Composites stay nested, for the names in errors.
  public var evaluators: [Evaluator]

  public init(name: String, anchors: Anchors = .system, minimumVersion: TLSVersion = .tls12, evaluators: [Evaluator]) {
    self.name = name
    self.anchors = anchors
    self.minimumVersion = minimumVersion
    self.evaluators = evaluators
  }

  public enum TLSVersion: String, Sendable, Hashable {
    case tls12 = "tls1.2"
    case tls13 = "tls1.3"
  }

  /// The roots in which a chain may end. Certificates are in DER, read with the configuration.
  public enum Anchors: Sendable, Hashable {
    case system
    case systemAnd([[UInt8]])
    case only([[UInt8]])

    public var haveSystem: Bool { if case .only = self { false } else { true } }
  }

  public indirect enum Evaluator: Sendable, Hashable {
    case chain(Validation)
    case pinnedPublicKeys(PinnedPublicKeys)
    case pinnedCertificates(PinnedCertificates)
    case revocation(Revocation)
    case composite([Evaluator])
    /// Accepts everything. Must be the only evaluator.
    case disabled
  }

  public struct Validation: Sendable, Hashable {
    public var chain: Bool
    public var host: Bool
    public init(chain: Bool = true, host: Bool = true) {
      self.chain = chain
      self.host = host
    }
  }

  public struct PinnedPublicKeys: Sendable, Hashable {
    /// Each is the SHA-256 of a SubjectPublicKeyInfo, 32 bytes (RFC 7469 section 2.4).
    public var pins: Set<[UInt8]>
    /// Seconds since 1970 after which the pins are no longer enforced; nil = never.
    public var expires: Int64?
    public var enforce: Bool
    public var validation: Validation
    public init(pins: Set<[UInt8]>, expires: Int64? = nil, enforce: Bool = true, validation: Validation = Validation()) {
      self.pins = pins
      self.expires = expires
      self.enforce = enforce
      self.validation = validation
    }
  }

  public struct PinnedCertificates: Sendable, Hashable {
    /// Each in DER.
    public var certificates: [[UInt8]]
    /// True: these certificates are the only anchors.
    public var acceptSelfSigned: Bool
    public var validation: Validation
    public init(certificates: [[UInt8]], acceptSelfSigned: Bool = false, validation: Validation = Validation()) {
      self.certificates = certificates
      self.acceptSelfSigned = acceptSelfSigned
      self.validation = validation
    }
  }

  public struct Revocation: Sendable, Hashable {
    public enum Method: String, Sendable, Hashable { case ocsp, crl }
    public enum Scope: String, Sendable, Hashable { case chain, leaf }
    public var methods: [Method]
    /// Used instead of the certificate's own pointer.
    public var responder: String?
    /// Each local CRL in DER.
    public var lists: [[UInt8]]
    public var network: Bool
    /// Time-out of one fetch, in milliseconds.
    public var timeout: Int
    public var requirePositiveResponse: Bool
    public var scope: Scope
    public var validation: Validation
    public init(
      methods: [Method] = [.ocsp, .crl], responder: String? = nil, lists: [[UInt8]] = [], network: Bool = true,
      timeout: Int = 3_000, requirePositiveResponse: Bool = false, scope: Scope = .chain, validation: Validation = Validation()
    ) {
      self.methods = methods
      self.responder = responder
      self.lists = lists
      self.network = network
      self.timeout = timeout
      self.requirePositiveResponse = requirePositiveResponse
      self.scope = scope
      self.validation = validation
    }
  }

  /// Applies if an upstream names no policy and none is called `default`.
  public static let systemDefault = TrustPolicy(name: "system", evaluators: [.chain(Validation())])
}
