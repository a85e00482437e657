import TLS

/// The gate between a handshake and the first byte, as a value: ask `next`; where it wants a fetch, make it (or wait for the
/// one under way), hand the outcome to the cache, ask again. Each fetch is wanted once, so it comes to an end.
///
///     next -> trusted(until) | refused | fetch -> cache.begin: lead -> exchange -> cache.finish -> next
///                                                              join -> wait for that finish     -> next
public struct RevocationCheck {
  public enum Action: Sendable {
    /// Seconds since 1970: then the gate is to be passed again.
    case trusted(until: Int64)
    case fetch(FetchRequest)
    case refused(TrustRefusal)
  }

  /// For `revocation_checks_total{source,result}`.
  public struct Observation: Sendable, Hashable {
    public enum Source: String, Sendable, Hashable, CaseIterable { case staple, cache, file, ocsp, crl, none }
    public enum Result: String, Sendable, Hashable, CaseIterable { case good, revoked, unusable, unknown }
    public var source: Source
    public var result: Result
  }

  /// How long a pass without an answer holds where nothing could be asked, in seconds.
  static let lifetimeWithoutAnswer: Int64 = 3600

  private let policy: String
  private let host: PeerName
  private let rules: [RevocationRule]
  private let chain: [Certificate]
  private let validator: String?
  private var staple: [UInt8]?
  private var rule = 0
  private var link = 0
  private var attempted: Set<[UInt8]> = []
  /// Failures that are among the observations already.
  private var counted: Set<[UInt8]> = []
  private var until = Int64.max
  /// What was found on the way; the caller counts it at the end.
  public private(set) var observations: [Observation] = []
  public private(set) var warnings: [TrustWarning] = []

  /// `validator` is the first evaluator that had the chain validated; nil = none did, and dates are nobody's business.
  init(
    policy: String, host: PeerName, rules: [RevocationRule], chain: [Certificate], validator: String?, staple: [UInt8]?
  ) {
    self.policy = policy
    self.host = host
    self.rules = rules
    self.chain = chain
    self.validator = validator
    self.staple = staple
  }

  private enum Finding {
    case good(until: Int64)
    case revoked(at: Int64)
    case fetch(FetchRequest)
    case nothing(retryAt: Int64)
  }

  public mutating func next(_ cache: RevocationCache, now: Int64) -> Action {
    if let validator {
      for certificate in chain {
        guard now <= certificate.notAfter else {
          return .refused(
            TrustRefusal(evaluator: validator, reason: .expired, detail: "\(certificate.subject) has expired meanwhile"))
        }
        until = min(until, certificate.notAfter)
      }
    }
    while rule < rules.count {
      let current = rules[rule]
      guard !chain.isEmpty else {
        return .refused(
          TrustRefusal(evaluator: current.name, reason: .revocationUnknown, detail: "there is no verified chain to check"))
      }
      // The anchor is trusted as it is; nobody could revoke it but its owner here.
      let links = current.settings.scope == .leaf ? min(1, chain.count - 1) : chain.count - 1
      guard link < links else {
        rule += 1
        link = 0
        continue
      }
      switch find(current, chain[link], chain[link + 1], cache, now) {
      case .fetch(let request): return .fetch(request)
      case .good(let limit): until = min(until, limit)
      case .revoked(let at):
        let detail = "\(chain[link].subject) was revoked" + (at > 0 ? " at \(UTCTime.text(at))" : "")
        return .refused(TrustRefusal(evaluator: current.name, reason: .revoked, detail: detail))
      case .nothing(let retryAt):
        let detail = "no answer about the revocation of \(chain[link].subject)"
        observe(.none, .unknown)
        guard !current.settings.requirePositiveResponse else {
          return .refused(TrustRefusal(evaluator: current.name, reason: .revocationUnknown, detail: detail))
        }
        warnings.append(
          TrustWarning(
            kind: .revocationUnknown, policy: policy, evaluator: current.name, host: host.text, detail: detail))
        until = min(until, retryAt)
      }
      link += 1
    }
    return .trusted(until: until)
  }

  private mutating func find(
    _ rule: RevocationRule, _ certificate: Certificate, _ issuer: Certificate, _ cache: RevocationCache, _ now: Int64
  ) -> Finding {
    if link == 0, let answer = staple {
      switch OCSP.status(answer, of: certificate, issuer: issuer, now: now) {
      case .good(let until):
        observe(.staple, .good)
        return .good(until: max(until, now + RevocationCache.shortestLifetime))
      case .revoked(let at):
        observe(.staple, .revoked)
        return .revoked(at: at)
      case .unusable:
        observe(.staple, .unusable)
        staple = nil
      }
    }
    // What a local list revokes is revoked, whatever a responder says; what it does not is known only in its turn.
    let local = rule.localStatus(of: certificate, issuer: issuer, now: now)
    if case .revoked(let at) = local {
      observe(.file, .revoked)
      return .revoked(at: at)
    }
    let requests = rule.requests(certificate, issuer: issuer)
    var retryAt = now + Self.lifetimeWithoutAnswer
    var open: [FetchRequest] = []
    for request in requests {
      switch cache.lookup(request, of: certificate, issuer: issuer, now: now) {
      case .answer(.good(let until)):
        observe(source(of: request), .good)
        return .good(until: until)
      case .answer(.revoked(let at)):
        observe(source(of: request), .revoked)
        return .revoked(at: at)
      case .failed(let time):
        retryAt = min(retryAt, time)
        if attempted.contains(request.key), counted.insert(request.key).inserted { observe(source(of: request), .unusable) }
      case .answer(.unusable), .notCovering: break
      case .absent: open.append(request)
      }
    }
    let asksOCSPFirst = rule.settings.methods.first == .ocsp
    if case .good(let until) = local, !asksOCSPFirst || !rule.settings.network {
      observe(.file, .good)
      return .good(until: until)
    }
    if rule.settings.network {
      // A local list stands where the network's lists would.
      for request in open where attempted.insert(request.key).inserted {
        if case .list = request.subject, local != nil { continue }
        return .fetch(request)
      }
    }
    if case .good(let until) = local {
      observe(.file, .good)
      return .good(until: until)
    }
    return .nothing(retryAt: retryAt)
  }

  private func source(of request: FetchRequest) -> Observation.Source {
    guard attempted.contains(request.key) else { return .cache }
    if case .ocsp = request.subject { return .ocsp }
    return .crl
  }

  private mutating func observe(_ source: Observation.Source, _ result: Observation.Result) {
    observations.append(Observation(source: source, result: result))
  }
}
