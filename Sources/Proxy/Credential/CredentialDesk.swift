import Credentials
import EventIO
import Fetch
import Kerberos
import RedisClient
import TLS

/// One loop's credentials: its view of each, and the owners whose home it is. Confined to the loop, which owns it.
final class CredentialDesk {
  let loop: EventLoop
  let group: LoopGroup
  let registry: CredentialRegistry
  /// For token requests.
  let fetch: FetchClient
  let observer: LoopObserver
  /// To the store that a fleet shares.
  let store: StoreLink
  /// On the first loop.
  private let keeper: StoreKeeper?
  /// How Kerberos tickets are had.
  private let ticketSource: @Sendable (NegotiatePolicy) -> any TicketSource
  private var snapshot: Snapshot?
  private var views: [CredentialIdentity: CredentialView] = [:]
  /// The views of the current snapshot, in its order.
  private var current: [CredentialView] = []
  private var owners: [CredentialIdentity: CredentialOwner] = [:]
  private var bySerial: [UInt64: CredentialOwner] = [:]
  private var lastSerial: UInt64 = 0
  /// Tables of owners that were dropped, which requests of an older configuration may still use.
  private var orphans: [(sources: [CredentialIdentity], tokens: Weak)] = []

  private struct Weak { weak var tokens: SubjectTokens? }

  /// Creates the loop's desk and leaves it with the loop.
  /// - Parameter gate: judges whether the certificates of the fleet's store are revoked.
  static func install(
    on loop: EventLoop, group: LoopGroup, registry: CredentialRegistry, fetch: FetchClient, observer: LoopObserver,
    gate: @escaping RevocationGate = { _, done in
      done(.failure(PeerRefusal(evaluator: "revocation", reason: .revocationUnknown, detail: "nobody checks it here")))
    },
    ticketSource: @escaping @Sendable (NegotiatePolicy) -> any TicketSource = { TicketClient($0) }
  ) -> CredentialDesk {
    let keeper =
      loop.executor === group.executors[0] ? StoreKeeper(on: loop, group, registry.store, observer, gate: gate) : nil
    let desk = CredentialDesk(loop, group, registry, fetch, observer, keeper, ticketSource)
    loop.install(desk)
    registry.store.installed(on: loop)
    desk.store.begin(registry.store)
    return desk
  }

  private init(
    _ loop: EventLoop, _ group: LoopGroup, _ registry: CredentialRegistry, _ fetch: FetchClient, _ observer: LoopObserver,
    _ keeper: StoreKeeper?, _ ticketSource: @escaping @Sendable (NegotiatePolicy) -> any TicketSource
  ) {
    self.loop = loop
    self.group = group
    self.registry = registry
    self.fetch = fetch
    self.observer = observer
    self.keeper = keeper
    store = StoreLink(on: loop, group)
    self.ticketSource = ticketSource
  }

  static func of(_ loop: EventLoop) -> CredentialDesk { loop.resident(CredentialDesk.self) }

  /// The loop where the credential's owner lives. It depends on the name alone, so every loop can compute it.
  func home(of credential: String) -> LoopExecutor {
    // FNV-1a
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in credential.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return group.executors[Int(hash % UInt64(group.executors.count))]
  }

  func adopt(_ next: Snapshot) {
    snapshot = next
    keeper?.adopt(next.store, generation: next.generation)
    current = next.credentials.map { setup in
      let view = view(of: setup)
      view.adopt(setup)
      if home(of: setup.name) === loop.executor { _ = owner(of: setup) }
      return view
    }
    let identities = Set(next.credentials.map(\.identity))
    for (identity, owner) in owners where !identities.contains(identity) {
      if owner.isRetired {
        // It was retired by an earlier reload. If a request of an older configuration still asks, another owner is created for
        // it.
        if !owner.isBusy { forget(owner) }
      } else {
        retire(owner, in: next)
      }
    }
    for identity in Array(views.keys) where !identities.contains(identity) {
      // Requests that began before may still own their view.
      var view = views.removeValue(forKey: identity)
      if !isKnownUniquelyReferenced(&view) { views[identity] = view }
    }
  }

  private func retire(_ owner: CredentialOwner, in next: Snapshot) {
    owner.retire()
    if !next.credentials.contains(where: { $0.name == owner.name }) { registry.forget(owner.name) }
  }

  func view(of setup: CredentialSetup) -> CredentialView {
    if let view = views[setup.identity] { return view }
    let view = CredentialView(setup, self)
    views[setup.identity] = view
    return view
  }

  /// - Parameter index: in the snapshot's credentials. A request may have begun on an older snapshot.
  func view(_ index: Int, of snapshot: Snapshot) -> CredentialView {
    snapshot === self.snapshot ? current[index] : view(of: snapshot.credentials[index])
  }

  func view(_ identity: CredentialIdentity) -> CredentialView? { views[identity] }

  // MARK: On the home loop

  /// The credential's owner, created if there is none, under this configuration or a newer one. A loop's message can arrive
  /// before the reload's own.
  func owner(of setup: CredentialSetup) -> CredentialOwner {
    if let present = owners[setup.identity] {
      present.adopt(setup)
      return present
    }
    lastSerial += 1
    // Logs tell versions of one name apart by number, so the numbers continue across identities.
    let version = owners.values.lazy.filter { $0.name == setup.name }.map(\.latestVersion).max() ?? 0
    let owner: CredentialOwner
    if let policy = setup.policy.tokens, let subjects = setup.subjects {
      owner = SubjectOwner(setup, policy, subjects, self, serial: lastSerial)
    } else if let policy = setup.policy.tokens {
      owner = TokenOwner(setup, policy, self, serial: lastSerial, after: version)
    } else if case .negotiate(let policy) = setup.policy.kind {
      owner = TicketOwner(setup, policy, self, serial: lastSerial, after: version, begin: ticketSource)
    } else {
      owner = StaticOwner(setup, self, serial: lastSerial, after: version)
    }
    owners[setup.identity] = owner
    bySerial[owner.serial] = owner
    // With a new certificate, the tokens of the one before are worth nothing.
    defer { if version > 0, setup.policy.bindsTokens, !owner.isRetired { (owner as? TokenOwner)?.fetchAhead() } }
    // The request that asks has an older configuration, whose owner was dropped.
    if let snapshot, setup.generation < snapshot.generation,
      !snapshot.credentials.contains(where: { $0.identity == setup.identity })
    {
      retire(owner, in: snapshot)
    }
    return owner
  }

  func owner(serial: UInt64) -> CredentialOwner? { bySerial[serial] }

  /// No token of this credential may be used any more, nor what was exchanged for it.
  func withdrawn(_ source: CredentialIdentity) {
    for owner in owners.values where owner.setup.exchanged.contains(where: { $0.identity == source }) {
      owner.sourceWithdrawn()
    }
    orphans.removeAll { $0.tokens.tokens == nil }
    for orphan in orphans where orphan.sources.contains(source) { orphan.tokens.tokens?.withdraw() }
  }

  private func forget(_ owner: CredentialOwner) {
    orphans.removeAll { $0.tokens.tokens == nil }
    if let tokens = (owner as? SubjectOwner)?.tokens, !owner.setup.exchanged.isEmpty {
      orphans.append((owner.setup.exchanged.map(\.identity), Weak(tokens: tokens)))
    }
    owner.stop()
    loop.forget(owner)
    owners[owner.setup.identity] = nil
    bySerial[owner.serial] = nil
  }
}
