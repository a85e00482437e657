import CSystem
import EventIO
import HTTPWire

extension Request {
  enum Decision {
    /// An informational response: relayed, or swallowed; the final one follows.
    case interim
    /// 101: the connection changes its protocol.
    case upgrade
    case relay(Download)
    /// It refuses the credential: kept back until that is settled.
    case hold(HeldAnswer)
    /// Sent again at once, without `Expect`.
    case retryWithoutExpectation
    /// Sent again after a while; `Retry-After` in seconds where there was one. What is swallowed has this body.
    case retry(Int?, BodySource, keepsUpstream: Bool)
  }

  /// The one decision after a response head (`worker.responseHead`, over `bytes`). What goes to the app is generated anew into the
  /// client's outbound block.
  func decide(_ bytes: UnsafeRawBufferPointer, of attempt: Attempt) throws(ProxyError) -> Decision {
    guard let entry else { throw .internalError }
    let status = worker.responseHead.status
    if status == 101 {
      guard isUpgrade, worker.responseHead.upgradeToken(in: bytes)?.equalsIgnoringCase(webSocket, in: bytes) == true else {
        throw .unexpectedUpgrade
      }
      writeHead(bytes, framing: .none, keepsClient: true, isUpgrade: true)
      summary.status = 101
      summary.author = .upstream
      answer = .begun
      return .upgrade
    }
    if worker.responseHead.isInterim {
      // RFC 9110 section 15.2: not to HTTP/1.0; a 100 only to who asked for it.
      if clientIsHTTP11, status != 100 || expectsContinue { writeInterim(bytes) }
      return .interim
    }
    let authenticatesConnection = worker.responseHead.authenticatesConnection(in: bytes)
    if authenticatesConnection { attempt.connection?.bind(to: self) }
    let framing: BodyFraming
    do { framing = try worker.responseHead.framing(to: method, in: bytes) } catch { throw .badResponse(error) }
    let keepsUpstream = worker.responseHead.persists(in: bytes)
    if retriesWithoutExpectation(status, attempt) { return .retryWithoutExpectation }
    if credential != nil, holds(worker.responseHead, bytes) {
      return .hold(HeldAnswer(bytes, framing: framing, keepsUpstream: keepsUpstream))
    }
    if let wish = retryWish(status, worker.responseHead, bytes, entry) {
      return .retry(wish.seconds, BodySource(framing), keepsUpstream: keepsUpstream)
    }

    var plan = Download.Plan(
      source: framing, sink: framing, keepsClient: clientPersists && !client.isClosing, keepsUpstream: keepsUpstream,
      inflater: nil)
    let coding = inflatedCoding(worker.responseHead, bytes, entry)
    if let coding, framing != .none, let inflater = Inflater(coding) {
      plan.inflater = inflater
      plan.sink = .chunked
    }
    // A body whose end the origin marks by closing is chunked to the app, which so can tell an end from a cut.
    if framing == .untilClose { plan.sink = .chunked }
    if !clientIsHTTP11, plan.sink == .chunked { plan.sink = .untilClose }
    let isUploadCut = !attempt.upload.isDone && (status >= 300 || attempt.awaitsContinue)
    if plan.sink == .untilClose || isUploadCut { plan.keepsClient = false }
    if worker.responseHead.isEventStream(in: bytes) { stall = entry.timeouts.tunnel }
    summary.status = status
    summary.author = .upstream
    answer = .composed(behind: client.outbound?.count ?? 0)
    writeHead(
      bytes, framing: plan.sink, keepsClient: plan.keepsClient, isUpgrade: false,
      // HEAD says what GET would.
      isInflated: plan.inflater != nil || coding != nil && method == .head,
      authenticatesConnection: authenticatesConnection)
    return .relay(Download(attempt, plan))
  }

  private struct Wish { var seconds: Int? }

  /// Whether the entry's `retry` asks for another attempt; a Retry-After beyond `max_wait` is relayed instead.
  private func retryWish(
    _ status: Int, _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ entry: Entry
  ) -> Wish? {
    let policy = entry.settings.retry
    guard policy.attempts > 0, policy.statuses.contains(status), mayRetry(entry) else { return nil }
    let wish = head.retryAfter(now: wallClockSeconds(), in: bytes).map { Int(clamping: $0) }
    if let wish, wish > policy.maxWait / 1_000 { return nil }
    return Wish(seconds: wish)
  }

  /// Where `decompress` applies: the app did not ask for gzip, and got it.
  private func inflatedCoding(
    _ head: borrowing ResponseHead, _ bytes: UnsafeRawBufferPointer, _ entry: Entry
  ) -> Inflater.Coding? {
    // RFC 9110 section 7.7.
    guard entry.settings.decompress, !appAcceptsGzip, head.status != 206,
      !head.fields.hasMember("no-transform", in: .cacheControl, of: bytes),
      head.fields.count(of: .contentEncoding) == 1, let field = head.fields.first(.contentEncoding)
    else { return nil }
    if field.value.equalsIgnoringCase("gzip", in: bytes) || field.value.equalsIgnoringCase("x-gzip", in: bytes) { return .gzip }
    return field.value.equalsIgnoringCase("deflate", in: bytes) ? .deflate : nil
  }

  private func writeInterim(_ bytes: UnsafeRawBufferPointer) {
    worker.responseHead.markHopByHop(in: bytes, keepUpgrade: false)
    // Who answered is said by the final one; a member under our name would be forged.
    worker.responseHead.fields.drop(.proxyStatus)
    let fields = worker.responseHead.fields
    let block = client.outbound ?? loop.blocks.borrow()
    let size = worker.responseHead.reason.count + fields.keptSize + 64 + snapshot.viaLine.count
    guard size <= block.room else { return }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(statusLineOf: worker.responseHead, in: bytes)
    writer.append(fieldsOf: fields, in: bytes)
    writer.append(worker.responseHead.minorVersion == 0 ? snapshot.oldViaLine : snapshot.viaLine)
    writer.appendCRLF()
    block.end = writer.count
    client.outbound = block
    if worker.responseHead.status == 100 { expectsContinue = false }
  }

  private func writeHead(
    _ bytes: UnsafeRawBufferPointer, framing: BodyFraming, keepsClient: Bool, isUpgrade: Bool, isInflated: Bool = false,
    authenticatesConnection: Bool = false
  ) {
    // Of what is not sent; a 204 has none (RFC 9110 section 8.6).
    let hasLength = framing == .none && !isUpgrade && !isInflated && worker.responseHead.status != 204
    let ownLength = hasLength ? worker.responseHead.contentLength(in: bytes) : nil
    worker.responseHead.markHopByHop(in: bytes, keepUpgrade: isUpgrade)
    let rewriting = rewriteFields(bytes)
    if worker.responseHead.contains(.proxyStatus) { worker.responseHead.fields.drop(.proxyStatus) }
    if isInflated { dropForInflation(bytes) }
    let fields = worker.responseHead.fields
    let note = proxyStatusNote.map { "Proxy-Status: \(snapshot.settings.name); details=\"\(Answer.quoted($0))\"\r\n" } ?? ""
    // Lines grow by a blank each, lists by one for each comma; lines of our own have at most 250 bytes.
    let size =
      bytes.count + bytes.count / 2 + fields.count + rewriting.extra.count + note.utf8.count + snapshot.viaLine.count + 320
    var block = client.outbound ?? loop.blocks.borrow()
    if size > block.room {
      let larger = Block(capacity: block.count + size)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      block = larger
    }
    var writer = ByteWriter(block.base, capacity: block.capacity, count: block.end)
    writer.append(statusLineOf: worker.responseHead, in: bytes)
    writer.append(fieldsOf: fields, in: bytes)
    writer.append(rewriting.extra)
    if worker.responseHead.contains(.proxyStatus) {
      // What an upstream forged under our name goes; an app must be able to tell who answered.
      for field in fields where field.id == .proxyStatus {
        writer.append(listField: field, without: snapshot.name, in: bytes)
      }
    }
    if isInflated { writeInflatedFields(&writer, bytes) }
    if !note.isEmpty { writer.append(Array(note.utf8)) }
    // RFC 4559 section 6: without it an app must not answer the challenge through a proxy.
    if authenticatesConnection { writer.appendField("Proxy-Support", "Session-Based-Authentication") }
    // RFC 9110 section 6.6.1: who forwards an answer without a date adds one.
    if !worker.responseHead.contains(.date) { writer.append(worker.currentDateLine()) }
    writer.append(worker.responseHead.minorVersion == 0 ? snapshot.oldViaLine : snapshot.viaLine)
    if isUpgrade {
      writer.appendField("Connection", "upgrade")
    } else {
      writer.append(framing: framing)
      if let ownLength { writer.appendField("Content-Length", decimal: ownLength) }
      if !keepsClient { writer.appendField("Connection", "close") }
    }
    writer.appendCRLF()
    block.end = writer.count
    client.outbound = block
  }

  /// RFC 9110 section 8.4: the representation is another one without its coding.
  private func dropForInflation(_ bytes: UnsafeRawBufferPointer) {
    worker.responseHead.fields.drop(.contentEncoding)
    worker.responseHead.fields.drop(.etag)
  }

  private func writeInflatedFields(_ writer: inout ByteWriter, _ bytes: UnsafeRawBufferPointer) {
    if let etag = worker.responseHead.fields.first(.etag) {
      let value = etag.value.bytes(in: bytes)
      writer.append("ETag: ")
      if value.first != UInt8(ascii: "W") { writer.append("W/") }
      writer.append(value)
      writer.appendCRLF()
    }
    let variesAlready = worker.responseHead.fields.hasMember("accept-encoding", in: .vary, of: bytes)
    if !variesAlready, !worker.responseHead.fields.hasMember("*", in: .vary, of: bytes) {
      writer.appendField("Vary", "Accept-Encoding")
    }
  }
}

/// Seconds since 1970.
func wallClockSeconds() -> Int64 { csys_wall_clock() / 1_000_000_000 }
