import EventIO
import HTTPWire
import WayOut

/// A connection over which a parent takes requests for an http origin in absolute-form (RFC 9112 section 3.2.2). Confined to its loop.
public final class AbsoluteForm {
  public let parent: Parent
  /// `http://host[:port]`, before the target's path.
  public let base: [UInt8]
  /// `Proxy-Authorization: ...` with CRLF; empty: none.
  public let loginLine: [UInt8]
  private let trial: LoginTrial?
  private var isUntried = true
  private unowned let upstreams: Upstreams
  /// This connection alone tries a parent that is down.
  var claim: WayHealth.Claim?
  /// When the health memory was told last that the parent works, in nanoseconds of the loop's clock.
  private var noted: Int64 = 0

  /// Nanoseconds between two notes of one connection that the parent works.
  private static let noteInterval: Int64 = 10_000_000_000

  init(
    _ parent: Parent, host: String, port: UInt16, _ login: ParentLogin?, _ trial: LoginTrial?, on upstreams: Upstreams
  ) {
    self.parent = parent
    self.upstreams = upstreams
    base = Array("http://\(Authority.text(host: host, port: port, defaultPort: 80))".utf8)
    loginLine = login?.line ?? []
    self.trial = trial
  }

  deinit {
    guard let claim else { return }
    upstreams.shared.health.withLock { $0.gaveUp(parent.hop, claim: claim) }
  }

  /// Makes a head as the parent wants it out of one that was written for the origin.
  /// - Parameter block: the head in origin-form, without the blank line; it has room for what is `added`.
  public func rewrite(_ block: Block) {
    let head = block.bytes
    guard let space = head.firstIndex(of: UInt8(ascii: " ")), space + 1 < head.count else { return }
    // OPTIONS of the whole origin has no path there (RFC 9112 section 3.2.4).
    let rest = space + (head[space + 1] == UInt8(ascii: "*") ? 2 : 1)
    let (from, to) = (block.base + block.start + rest, block.base + block.start + space + 1 + base.count)
    to.copyMemory(from: from, byteCount: head.count - rest)
    base.withUnsafeBytes { bytes in
      if let start = bytes.baseAddress { (to - bytes.count).copyMemory(from: start, byteCount: bytes.count) }
    }
    block.end += space + 1 + base.count - rest
    block.append(loginLine)
  }

  /// Most bytes that this adds to a head.
  public var added: Int { base.count + loginLine.count }

  /// The parent has answered 407: the credential is not sent again, unless its source has another.
  public func refused(_ head: borrowing ResponseHead, in bytes: UnsafeRawBufferPointer, now: Int64) -> UpstreamError {
    refused(asked: head.proxySchemes(in: bytes), now: now)
  }

  /// The same, where nobody reads which schemes it asks for.
  /// - Parameter now: nanoseconds of the monotonic clock.
  func refused(asked: String = "", now: Int64) -> UpstreamError {
    noteWorks(now)
    trial?.refused(asked: asked, isSure: false, now: now)
    return .parent(
      ParentFailure(parent: parent.name, credential: parent.credential?.name, reason: .loginRefused(asked: asked), status: 407))
  }

  /// Whether its credential may be presented again: the parent has not refused it on another connection.
  func mayPresent(now: Int64) -> Bool { isUntried || trial?.mayPresent(now: now) ?? true }

  /// The parent has accepted its credential on this connection.
  public var isProven: Bool { !isUntried }

  /// The parent has answered something else than 407.
  /// - Parameter now: nanoseconds of the loop's clock.
  @inline(__always)
  public func accepted(now: Int64) {
    if isUntried || now - noted >= Self.noteInterval { noteAccepted(now) }
  }

  private func noteAccepted(_ now: Int64) {
    noteWorks(now)
    guard isUntried else { return }
    isUntried = false
    trial?.accepted()
  }

  private func noteWorks(_ now: Int64) {
    noted = now
    claim = nil
    let changes = upstreams.shared.health.withLock { health in
      health.worked(parent.hop, now: now)
      return health.takeChanges()
    }
    upstreams.report(changes)
  }

  /// A request that had time for an answer got not a byte of one. A parent that has served others a moment ago waits for an origin that
  /// does not answer; otherwise it is down.
  /// - Parameter now: nanoseconds of the loop's clock.
  public func gaveNoAnswer(now: Int64) {
    let (claim, random) = (claim, UInt64.random(in: 0...UInt64.max))
    self.claim = nil
    let changes = upstreams.shared.health.withLock { health in
      if !health.hasWorkedLately(parent.hop, now: now) { health.broke(parent.hop, claim: claim, now: now, random: random) }
      return health.takeChanges()
    }
    upstreams.report(changes)
  }
}
