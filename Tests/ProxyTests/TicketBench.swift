import Cache
import Credentials
import Crypto
import EventIO
import Fetch
import Forwarding
import HTTPWire
import Kerberos
import Settings
import Synchronization

@testable import Proxy

/// A loop with a `negotiate` credential whose tickets are stubs, and requests that ask for tokens.
final class TicketBench: Sendable {
  private let group = LoopGroup(count: 1)
  private let builder = SnapshotBuilder(makesAuthorities: false)
  private let current: Mutex<(snapshot: Snapshot, policy: NegotiatePolicy)>
  private var snapshot: Snapshot { current.withLock { $0.snapshot } }
  private var policy: NegotiatePolicy { current.withLock { $0.policy } }

  init(_ source: NegotiatePolicy.Source, _ tickets: StubTickets) async throws {
    let policy = NegotiatePolicy(source: source, principal: "svc@R")
    current = Mutex((try builder.build(Self.settings(policy, []), generation: 1, after: nil), policy))
    group.start()
    await onLoop { [group] loop in
      _ = CredentialDesk.install(
        on: loop, group: group, registry: CredentialRegistry(CacheStore(limit: 0)), fetch: FetchClient(loop: loop),
        observer: LoopObserver(),
        ticketSource: { _ in tickets })
    }
  }

  private static func settings(_ policy: NegotiatePolicy, _ hosts: [String]) -> Settings {
    Settings(
      listeners: [],
      upstreams: hosts.map {
        UpstreamSettings(
          name: $0, match: .init(host: $0), origin: .init(scheme: .https, host: $0, port: 443), credential: "intranet",
          timeouts: .init())
      }, credentials: ["intranet": CredentialPolicy(name: "intranet", kind: .negotiate(policy))])
  }

  /// Another configuration, with an entry for each host.
  func reload(_ policy: NegotiatePolicy, hosts: [String]) async throws {
    let before = snapshot
    let next = try builder.build(Self.settings(policy, hosts), generation: before.generation + 1, after: before)
    current.withLock { $0 = (next, policy) }
    await onLoop { CredentialDesk.of($0).adopt(next) }
  }

  func onLoop<Result: Sendable>(_ body: @escaping @Sendable (EventLoop) -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      group.executors[0].call { continuation.resume(returning: body($0)) }
    }
  }

  var phase: CredentialReport.Phase? {
    get async { await onLoop { CredentialDesk.of($0).registry.reports.first?.phase } }
  }

  /// Number of the ticket that a request to the host carries, or why it carries none.
  /// - Parameter answers: of the origin, to its attempts. What is made of each follows: `again`, `relayed`, `invalid` or `other`.
  func ask(_ host: String = "web", port: UInt16 = 80, answers: [String] = []) async -> String {
    await withCheckedContinuation { continuation in
      group.executors[0].call { [snapshot, policy] loop in
        Asker(host, port, snapshot.credentials[0], policy, loop, answers) { continuation.resume(returning: $0) }.prepare()
      }
    }
  }

  /// Requests that ask and leave at once.
  /// - Returns: how many the loop takes for waiting.
  func askAndLeave(_ host: String, times: Int) async -> Int {
    await onLoop { [snapshot, policy] loop in
      var waiting = 0
      for _ in 0..<times {
        let asker = Asker(host, 80, snapshot.credentials[0], policy, loop, []) { _ in }
        asker.prepare()
        asker.leave()
        waiting = asker.waitingCount
      }
      return waiting
    }
  }

  private final class Asker: CredentialWaiter {
    private let host: String
    private let port: UInt16
    private var answers: [String]
    private var said = ""
    private let policy: NegotiatePolicy
    private let view: CredentialView
    private let version: CredentialVersion
    private let session = NegotiateSession()
    private let done: (String) -> Void
    private var whileWaiting: Asker?

    init(
      _ host: String, _ port: UInt16, _ setup: CredentialSetup, _ policy: NegotiatePolicy, _ loop: EventLoop,
      _ answers: [String], _ done: @escaping (String) -> Void
    ) {
      self.host = host
      self.port = port
      self.answers = answers
      self.policy = policy
      self.done = done
      let desk = CredentialDesk.of(loop)
      view = desk.view(of: setup)
      let owner = desk.owner(of: setup)
      version = CredentialVersion(
        RenderedCredential(name: setup.name, material: .negotiate(policy), version: owner.latestVersion), of: owner)
    }

    private var origin: OriginAuthority { OriginAuthority(isTLS: false, host: host, port: port) }
    private var signer: NegotiateSigner? { view.signer as? NegotiateSigner }
    var waitingCount: Int { signer?.tickets.known(at: origin)?.service.waiting.count ?? 0 }

    func leave() { whileWaiting = nil }
    override func preparationArrived() {
      guard whileWaiting != nil else { return }
      prepare()
    }

    func prepare() {
      whileWaiting = nil
      let limit = signer?.sizeLimit(of: UnsafeRawBufferPointer(start: nil, count: 0), noted: session) ?? 0
      let block = Block(capacity: limit)
      let preparation = Array("GET / HTTP/1.1\r\nHost: x\r\n".utf8).withUnsafeBytes { head -> RequestSigner.Preparation? in
        guard let head = WrittenHead(head), let signer,
          let attached = AttachedCredential(version, for: view.setup, subject: nil)
        else { return nil }
        return signer.prepare(
          RequestSigner.Draft(
            head: head, body: .none, digest: nil, credential: attached, target: nil, origin: origin, noted: session,
            request: self),
          into: block)
      }
      switch preparation {
      case .wait: whileWaiting = self
      case .ready:
        let token = Base64.decode(block.bytes.dropFirst("Authorization: Negotiate ".utf8.count).dropLast(2))
        answered(String(decoding: (token ?? []).prefix { $0 != 0 }, as: UTF8.self))
      case .refused(.credentialMissing(_, let reason), _): done("502 \(reason)")
      case .refused(.credentialUnavailable(_, let reason, _), _): done("503 \(reason)")
      case .refused(_, let why): done(why)
      default: done("\(String(describing: preparation))")
      }
    }

    private func answered(_ ticket: String) {
      said += said.isEmpty ? ticket : " " + ticket
      guard !answers.isEmpty else { return done(said) }
      let reading = Array("HTTP/1.1 \(answers.removeFirst())\r\n\r\n".utf8).withUnsafeBytes { bytes in
        var head = ResponseHead()
        guard case .complete = head.parse(bytes, limit: bytes.count) else { return RequestSigner.Reading?.none }
        return signer?.read(&head, in: bytes, of: session, from: origin, isNews: true)
      }
      switch reading {
      case .challenge(canAnswer: true):
        said += " again"
        return prepare()
      case .challenge: said += " relayed"
      case .invalid: said += " invalid"
      case .other: said += " other"
      default: said += " \(String(describing: reading))"
      }
      done(said)
    }
  }
}
