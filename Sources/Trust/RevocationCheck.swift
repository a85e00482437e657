import TLS

/// The gate between a handshake and the first byte, as a value. Call `next`. If it returns a fetch, make it (or wait for the
/// running one), pass the result to the cache, and call `next` again. It asks for each fetch only once, so it terminates.
///
///     next -> trusted(until) | refused | fetch -> cache.begin: lead -> exchange -> cache.finish -> next
///                                                              join -> wait for that finish     -> next
public struct RevocationCheck {
  public enum Action: Sendable {
    /// Until when the connection is trusted, in seconds since 1970. After that it must pass the gate again.
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

  /// How long a verdict is valid if nothing could be asked, in seconds.
  static let lifetimeWithoutAnswer: Int64 = 3600

  private let policy: String
  private let host: PeerName
  private let rules: [RevocationRule]
  private let chain: [Certificate]
  private let validator: String?
  private let judgesParent: Bool
  private var staple: [UInt8]?
  private var rule = 0
  private var link = 0
  private var attempted: Set<[UInt8]> = []
  /// Failures that are already among the observations.
  private var counted: Set<[UInt8]> = []
  private var until = Int64.max
  /// What the check observed; the caller counts it at the end.
  public private(set) var observations: [Observation] = []
  public private(set) var warnings: [TrustWarning] = []

  /// `validator` is the first evaluator that requires a valid chain; nil = none does, and then dates do not matter.
  init(
    policy: String, host: PeerName, rules: [RevocationRule], chain: [Certificate], validator: String?, staple: [UInt8]?,
    judgesParent: Bool
  ) {
    self.policy = policy
    self.host = host
    self.rules = rules
    self.chain = chain
    self.validator = validator
    self.judgesParent = judgesParent
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
      // The anchor is trusted by configuration, so its revocation is not checked.
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
    // A local list can revoke a certificate whatever a responder says. That it does not revoke one counts only in the order of
    // methods.
    let local = rule.localStatus(of: certificate, issuer: issuer, now: now)
    if case .revoked(let at) = local {
      observe(.file, .revoked)
      return .revoked(at: at)
    }
    let requests = rule.requests(certificate, issuer: issuer, judgesParent: judgesParent)
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
      // A local list takes the place of lists from the network.
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
