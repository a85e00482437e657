import Credentials
import EventIO
import Forwarding
import Upstreams

/// As the credential of a parent proxy, by the owners and views that serve requests: its value is published to all loops, and a
/// refusal has its source read once more.
extension CredentialSetup: ParentCredential {
  /// No other identity has it.
  public var digest: [UInt8] { Array("\(name) \(serial)".utf8) }

  public func obtain(
    for peer: ParentPeer, on loop: EventLoop, deliver: @escaping (Result<ParentLogin, ParentLoginMissing>) -> Void
  ) -> any ParentWait {
    let view = CredentialDesk.of(loop).view(of: self)
    let waiter = ParentWaiter(for: name)
    waiter.onCredential = { [unowned waiter] result in
      switch result {
      case .failure(let error): deliver(.failure(ParentLoginMissing(reason: error.reasonForLog)))
      case .success(let version):
        switch version.rendered.material {
        case nil: deliver(.success(Self.login(version)))
        case .digest(let policy):
          let version = version.rendered.version
          deliver(.success(ParentLogin(version: version, ParentDigest(policy, version, view.parentMemory))))
        case .negotiate(let policy): waiter.obtainTicket(policy, version.rendered.version, for: peer, from: view, deliver)
        case .awsKeys, .jwt, .hmac, .httpSignature, .target:
          deliver(.failure(ParentLoginMissing(reason: "its kind is not for parent proxies")))
        }
      }
    }
    switch view.authorize(waiter) {
    case .ready(let version): waiter.credentialArrived(.success(version))
    case .failed(let error): waiter.credentialArrived(.failure(error))
    case .wait(let wait): waiter.wait = wait
    }
    return waiter
  }

  public func refused(
    _ version: UInt64, by who: ParentRefuser, on loop: EventLoop, deliver: @escaping (_ hasAnother: Bool) -> Void
  ) -> any ParentWait {
    let waiter = ParentWaiter(for: name, who)
    // Its source is read before each ticket.
    if case .negotiate = policy.kind {
      deliver(false)
      return waiter
    }
    let desk = CredentialDesk.of(loop)
    waiter.onDecision = { decision in
      if case .resend = decision { return deliver(true) }
      guard who == .parent, case .relay(let reason) = decision, reason == .unchanged || reason == .remembered else {
        return deliver(false)
      }
      desk.home(of: self.name).call { loop in CredentialDesk.of(loop).owner(of: self).refusedByParent(version) }
      deliver(false)
    }
    switch desk.view(of: self).refused(waiter, version: version) {
    case .decided(let decision): waiter.refusalDecided(decision)
    case .wait(let wait): waiter.wait = wait
    }
    return waiter
  }

  public func accepted(by who: ParentRefuser, on loop: EventLoop) {
    let view = CredentialDesk.of(loop).view(of: self)
    view.accepted(ParentWaiter(for: name, who))
    // To a request in absolute-form an origin may have answered.
    if case .tunnel = who { view.accepted(ParentWaiter(for: name)) }
  }

  private static func login(_ version: CredentialVersion) -> ParentLogin {
    let rendered = version.rendered
    return ParentLogin(
      version: rendered.version, value: Array(rendered.line.dropFirst(rendered.fieldName.count + 2).dropLast(2)))
  }
}

private final class ParentWaiter: CredentialWaiter, ParentWait {
  private let name: String
  var wait: CredentialWait?
  var onCredential: ((Result<CredentialVersion, ProxyError>) -> Void)?
  var onDecision: ((RefusalDecision) -> Void)?
  /// Not nil while it waits for a ticket.
  private var onTicket: (() -> Void)?

  private let who: ParentRefuser

  init(for name: String, _ who: ParentRefuser = .parent) { (self.name, self.who) = (name, who) }

  /// With another client for each kind of refuser: so the readings that one kind causes in vain leave one to the others.
  override var refusalKey: RequestKey {
    let (client, host) =
      switch who {
      case .parent: ("", 0)
      case .tunnel(let host): ("tunnels", host)
      case .request(let host): ("requests", host)
      }
    return RequestKey(entry: "parent", client: client, method: "\(host)", path: Array(name.utf8))
  }

  override func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {
    wait = nil
    let deliver = onCredential
    onCredential = nil
    deliver?(result)
  }

  /// Waits for a ticket with which the parent can be asked.
  func obtainTicket(
    _ policy: NegotiatePolicy, _ version: UInt64, for peer: ParentPeer, from view: CredentialView,
    _ deliver: @escaping (Result<ParentLogin, ParentLoginMissing>) -> Void
  ) {
    guard let tickets = (view.signer as? NegotiateSigner)?.tickets else {
      return deliver(.failure(ParentLoginMissing(reason: "there is nothing to authenticate with")))
    }
    tickets.adopt(policy, version)
    let origin = OriginAuthority(isTLS: peer.isTLS, host: peer.host, port: peer.port)
    let session = NegotiateSession()
    session.refused = view.parentMemory.refusedTicket
    let doubted = view.parentMemory.doubtedTicket
    session.tickets.doubted = doubted
    onTicket = { [unowned self] in
      let service = tickets.service(at: origin)
      switch tickets.supply(service, session, for: self) {
      case .wait: return
      case .unavailable(let error):
        onTicket = nil
        deliver(.failure(ParentLoginMissing(reason: error.reasonForLog)))
      case .ready(let held):
        onTicket = nil
        // Another one has come, or none does.
        if view.parentMemory.doubtedTicket == doubted { view.parentMemory.doubtedTicket = 0 }
        let authentication = ParentNegotiate(
          policy, held, tickets, origin, binding: policy.bindsChannel ? peer.endPointBinding : nil, view.parentMemory)
        deliver(.success(ParentLogin(version: version, authentication)))
      }
    }
    onTicket?()
  }

  override func preparationArrived() { onTicket?() }

  override func refusalDecided(_ decision: RefusalDecision) {
    wait = nil
    let deliver = onDecision
    onDecision = nil
    deliver?(decision)
  }

  func cancel() {
    wait?.cancel()
    wait = nil
    onCredential = nil
    onDecision = nil
    onTicket = nil
  }
}

extension ProxyError {
  /// One line without secrets.
  fileprivate var reasonForLog: String {
    switch self {
    case .credentialUnavailable(_, let reason, _), .credentialMissing(_, let reason): reason
    default: answer(for: nil).details ?? "it has no value"
    }
  }
}
