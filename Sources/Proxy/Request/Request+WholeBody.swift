import Crypto
import EventIO
import Forwarding
import HTTPWire

/// A body whose hash, or whose bytes, go into its own head: it is read whole before a connection is taken, so a refused one leaves no
/// byte at the origin. It leaves with Content-Length.
extension Request {
  /// Pieces that are read before other requests of the loop get their turn.
  private static let turn = 32

  /// Whether the credential must know the whole body before the head is written.
  var needsWholeBody: Bool { wholeBodyUse != nil }

  /// How the signer uses the whole body; nil: it streams.
  private var wholeBodyUse: RequestSigner.BodyUse? {
    guard way?.entry.isSigned == true, body.framing.hasBytes,
      let signer = authorization.view?.signer, let head = message.head, let written = WrittenHead(head.bytes)
    else { return nil }
    let length: Int64? = if case .length(let length) = body.framing { Int64(length) } else { nil }
    let use = signer.bodyUse(of: written, length: length, noted: authorization.signing?.noted)
    switch use {
    case .streams: return nil
    // Before a redirect it may have been read for another credential.
    case .whole: return body.isWhole ? nil : use
    case .hashed(let algorithm): return body.isWhole(with: algorithm) ? nil : use
    }
  }

  func collectBody() -> RequestMachine.Input? {
    if attempt.exchange != nil { attempt.end(on: loop) }
    let use = wholeBodyUse ?? .whole
    var digest: RunningDigest.Algorithm?
    if case .hashed(let algorithm) = use { digest = algorithm }
    let limit = snapshot.settings.limits.hashedBody
    let account = account
    guard canReplay else { return failing(.internalError) }
    if let refusal = body.keepWhole(upTo: limit, digest: digest, of: account, from: services.buffers) {
      return refused(refusal)
    }
    // Trailers may come long after the last byte.
    if way?.entry.offersHTTP2 == true { app.awaitTrailers() }
    pulse.moved()
    return continueApp() ?? readWholeBody()
  }

  /// Reads what has arrived.
  func readWholeBody() -> RequestMachine.Input? {
    // The 100 may not have gone yet.
    if let input = flushInterim() { return input }
    var pieces = 0
    while !body.isDone {
      pieces += 1
      if pieces > Self.turn {
        loop.again(app)
        return nil
      }
      switch body.read(from: app, pulse) {
      case .piece: if let refusal = body.refusal { return refused(refusal) }
      case .blocked: return nil
      case .appLeft: return .clientBroken
      case .malformed(let error): return malformed(error)
      }
    }
    app.giveBackEmptyBlock()
    writeLength()
    return .bodyCollected
  }

  /// A body that came in chunks has a length now.
  private func writeLength() {
    guard case .chunked = body.framing, let head = message.head else { return }
    var bytes = Array(head.bytes)
    WrittenHead.replaceChunked(in: &bytes, withLength: body.received)
    let written = Block(capacity: bytes.count)
    written.append(bytes)
    message.head = written
  }

  private func refused(_ refusal: WholeBody.Refusal) -> RequestMachine.Input {
    message.persists = false
    switch refusal {
    case .tooLarge: return failing(.signing(.bodyTooLarge(limit: snapshot.settings.limits.hashedBody)))
    case .noMemory: return failing(.signing(.noMemoryForBody))
    }
  }
}
