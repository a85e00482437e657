import CSystem
import EventIO
import Logging
import Proxy
import Settings
import SmallHTTP
import TLS
import Trust
import Upstreams

/// Records what one loop reports, in its access log and its counters.
final class LoopRecorder: LoopObserver {
  private let access: AccessLog
  private var logsAccess: Bool
  private let logger: Logger
  private let trustLog: TrustLog
  private(set) var counters = LoopCounters()
  private var snapshot: Snapshot?
  /// On the first loop only.
  var admin: HTTPServer?

  init(_ loop: EventLoop, _ output: LogOutput, _ format: OperationalLogHandler.Format, _ trustLog: TrustLog, log: LogSettings) {
    self.trustLog = trustLog
    access = AccessLog(loop, output, format)
    logsAccess = log.access
    logger = Logger(label: "authproxy") { _ in OperationalLogHandler(output, format) }
  }

  func flush() { access.flush() }

  static func of(_ loop: EventLoop) -> LoopRecorder? { Worker.of(loop).observer as? LoopRecorder }

  override func adopted(_ snapshot: Snapshot) {
    self.snapshot = snapshot
    logsAccess = snapshot.settings.log.access
    counters.follow(snapshot)
  }

  override func ended(_ request: borrowing RequestRecord) {
    counters.count(request, in: snapshot)
    if logsAccess { access.add(request) }
  }
  override func discarded(upstream: String) { counters.upstreams[counters.place(of: upstream)].discards += 1 }
  override func negotiated(upstream: String, _ chosen: ApplicationProtocol) {
    counters.upstreams[counters.place(of: upstream)].note(.chosen(chosen))
  }
  override func streamReset(upstream: String, byOrigin: Bool, code: UInt32) {
    counters.upstreams[counters.place(of: upstream)].note(.reset(.init(byOrigin: byOrigin, code: .init(code))))
  }
  override func wentAway(upstream: String, code: UInt32, lastStream: Int32, text: String) {
    counters.upstreams[counters.place(of: upstream)].note(.goAway(.init(code)))
    var metadata: Logger.Metadata = [
      "upstream": "\(upstream)", "code": "\(HTTP2Failure.name(ofCode: code))", "last_stream": "\(lastStream)",
    ]
    if !text.isEmpty { metadata["debug"] = "\(text)" }
    if code == 0 {
      logger.debug("an origin takes no more requests on a connection", metadata: metadata)
    } else {
      logger.warning("an origin has ended an HTTP/2 connection", metadata: metadata)
    }
  }
  override func misdirected(upstream: String) {
    logger.warning(
      "an origin does not serve the authority that it was asked for (421): compare host_header",
      metadata: ["upstream": "\(upstream)"])
  }
  override func pinged(upstream: String, isAnswered: Bool) {
    counters.upstreams[counters.place(of: upstream)].note(.ping(isAnswered: isAnswered))
  }
  override func abused(upstream: String, _ abuse: HTTP2Abuse) {
    counters.upstreams[counters.place(of: upstream)].note(.abuse(abuse))
    logger.warning(
      "an HTTP/2 connection was ended: its origin broke a bound",
      metadata: ["upstream": "\(upstream)", "kind": "\(abuse.rawValue)"])
  }
  override func abused(by app: Address, _ abuse: HTTP2Abuse) {
    counters.appAbuses.add(abuse)
    logger.warning(
      "an HTTP/2 connection was ended: its app broke a bound", metadata: ["peer": "\(app)", "kind": "\(abuse.rawValue)"])
  }
  override func retried(_ entry: Entry, _ reason: RetryReason) {
    counters.upstreams[counters.place(of: entry, in: snapshot)].retries.add(reason)
  }
  override func redirected(_ entry: Entry, _ result: RedirectResult) {
    counters.upstreams[counters.place(of: entry, in: snapshot)].note(result)
  }
  override func leftHop(_ request: borrowing RequestRecord) { counters.countHop(request, in: snapshot) }
  override func challenged(_ entry: Entry) { counters.upstreams[counters.place(of: entry, in: snapshot)].nonceRetries += 1 }
  override func challenged(_ credential: String, _ result: ChallengeResult) {
    guard let index = counters.credentials.firstIndex(where: { $0.name == credential }) else { return }
    counters.credentials[index].challenges.add(result)
  }
  override func clockSkewed(_ entry: Entry, _ seconds: Int64) {
    counters.upstreams[counters.place(of: entry, in: snapshot)].noteClockSkew(seconds, at: csys_monotonic())
  }
  override func unauthorized(_ entry: Entry, _ result: UnauthorizedResult) {
    counters.upstreams[counters.place(of: entry, in: snapshot)].unauthorized.add(result)
  }
  override func trustFailed(upstream: String, evaluator: String, reason: TrustRefusalReason) {
    counters.upstreams[counters.place(of: upstream)].trustFailures.add(
      LoopCounters.TrustFailure(evaluator: evaluator, reason: reason))
  }
  override func revocationChecked(_ observation: RevocationCheck.Observation) { counters.revocation.add(observation) }
  override func tunnels(_ change: Int) { counters.tunnels += change }

  override func descriptorsExhausted() {
    logger.error(
      """
      out of file descriptors or epoll registrations: the proxy pauses accepting; raise LimitNOFILE or ulimit -n, or \
      fs.epoll.max_user_watches
      """)
  }
  override func parentTried(_ parent: String, _ result: ParentResult, nanoseconds: Int64) {
    guard let index = counters.parents.firstIndex(where: { $0.name == parent }) else { return }
    counters.parents[index].results.add(result)
    if result == .connected { counters.parents[index].connect.observe(nanoseconds) }
  }
  override func originChanged(upstream: String, origin: String, isUp: Bool) {
    let metadata: Logger.Metadata = ["upstream": "\(upstream)", "origin": "\(origin)"]
    if isUp {
      logger.info("an origin works again", metadata: metadata)
    } else {
      logger.warning("an origin is down; requests go to the next of the list", metadata: metadata)
    }
  }
  override func parentChanged(_ parent: String, isUp: Bool, reason: String?) {
    if isUp {
      logger.info("a parent proxy works again", metadata: ["parent": "\(parent)"])
    } else {
      var metadata: Logger.Metadata = ["parent": "\(parent)"]
      metadata["error"] = reason.map { "\($0)" }
      logger.warning("a parent proxy is down", metadata: metadata)
    }
  }
  override func trustWarned(_ warning: TrustWarning) { trustLog.warn(warning) }
  override func credential(_ name: String, _ event: CredentialEvent) {
    switch event {
    case .adopted: counters.note(.adopted, of: name)
    case .recordPutBack: counters.note(.putBack, of: name)
    default: break
    }
    CredentialLog.write(name, event, to: logger)
  }
  override func claimed(_ credential: String, _ result: ClaimResult) { counters.note(.claim(result), of: credential) }
  override func storeAnswered(_ operation: StoreOperation, _ result: StoreResult, nanoseconds: Int64) {
    counters.note(operation, result, nanoseconds: nanoseconds)
  }
  override func storeChanged(_ address: String, isUp: Bool, reason: String?) {
    var metadata: Logger.Metadata = ["store": "\(address)"]
    metadata["error"] = reason.map { "\($0)" }
    if isUp {
      logger.info("token store reachable", metadata: metadata)
    } else {
      logger.warning("token store unreachable", metadata: metadata)
    }
  }
  override func handshake(_ outcome: HandshakeOutcome) { counters.handshakes.add(outcome) }
  override func refused(_ refusal: HandshakeRefusal) { HandshakeLog.write(refusal, to: logger) }
  override func signingFailed(_ credential: String, _ why: String) {
    logger.error("a request could not be signed", metadata: ["credential": "\(credential)", "error": "\(why)"])
  }
  override func proxyHeaderFailed(at listener: Address) { counters.proxyHeaderErrors.add(listener.description) }
  override func notice(_ message: String) { logger.notice("\(message)") }
}
