import Credentials
import Crypto
import EventIO
import Fetch
import Forwarding
import Kerberos
import Settings

@testable import Proxy

/// A loop with a `negotiate` credential whose tickets are stubs, and requests that ask for tokens.
final class TicketBench: Sendable {
  private let group = LoopGroup(count: 1)
  private let snapshot: Snapshot
  private let policy: NegotiatePolicy

  init(_ source: NegotiatePolicy.Source, _ tickets: StubTickets) async throws {
    policy = NegotiatePolicy(source: source, principal: "svc@R")
    let credential = CredentialPolicy(name: "intranet", kind: .negotiate(policy))
    snapshot = try SnapshotBuilder(makesAuthorities: false).build(
      Settings(listeners: [], credentials: ["intranet": credential]), generation: 1, after: nil)
    group.start()
    await onLoop { [group] loop in
      _ = CredentialDesk.install(
        on: loop, group: group, registry: CredentialRegistry(), fetch: FetchClient(loop: loop), observer: LoopObserver(),
        ticketSource: { _ in tickets })
    }
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
  func ask(_ host: String = "web") async -> String {
    await withCheckedContinuation { continuation in
      group.executors[0].call { [snapshot, policy] loop in
        Asker(host, snapshot.credentials[0], policy, loop) { continuation.resume(returning: $0) }.prepare()
      }
    }
  }

  /// Requests that ask and leave at once.
  /// - Returns: how many the loop takes for waiting.
  func askAndLeave(_ host: String, times: Int) async -> Int {
    await onLoop { [snapshot, policy] loop in
      var waiting = 0
      for _ in 0..<times {
        let asker = Asker(host, snapshot.credentials[0], policy, loop) { _ in }
        asker.prepare()
        asker.leave()
        waiting = asker.waitingCount
      }
      return waiting
    }
  }

  private final class Asker: CredentialWaiter {
    private let host: String
    private let policy: NegotiatePolicy
    private let view: CredentialView
    private let version: CredentialVersion
    private let session = NegotiateSession()
    private let done: (String) -> Void
    private var whileWaiting: Asker?

    init(
      _ host: String, _ setup: CredentialSetup, _ policy: NegotiatePolicy, _ loop: EventLoop, _ done: @escaping (String) -> Void
    ) {
      self.host = host
      self.policy = policy
      self.done = done
      let desk = CredentialDesk.of(loop)
      view = desk.view(of: setup)
      version = CredentialVersion(
        RenderedCredential(name: setup.name, material: .negotiate(policy), version: 1), of: desk.owner(of: setup))
    }

    private var origin: OriginAuthority { OriginAuthority(isTLS: false, host: host, port: 80) }
    private var signer: NegotiateSigner? { view.signer as? NegotiateSigner }
    var waitingCount: Int { signer?.tickets.known(at: origin)?.waiting.count ?? 0 }

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
        done(String(decoding: (token ?? []).prefix { $0 != 0 }, as: UTF8.self))
      case .refused(.credentialMissing(_, let reason), _): done("502 \(reason)")
      case .refused(.credentialUnavailable(_, let reason, _), _): done("503 \(reason)")
      case .refused(_, let why): done(why)
      default: done("\(String(describing: preparation))")
      }
    }
  }
}
