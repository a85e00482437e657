import CNGHTTP2
import HTTPWire

/// The side of a connection that answers requests.
///
/// A stream counts against `SessionLimits.streams` until it is released: the driver releases it when its work upstream has ended, even if
/// the app reset the stream long before.
public final class ServerSession: Session {
  /// What became of a head that was to be sent.
  public enum Answered: Sendable, Hashable {
    /// Another head follows.
    case interim
    /// The body follows so.
    case final(BodyFraming)
    /// Nobody is there to read it: the app has reset the stream, or the connection is finished.
    case gone
    /// It is no head of HTTP/1.1, too large to be sent, or the second final one.
    case unfit
  }

  private var request = RequestText()
  /// HPACK's static table has these.
  private static let staticStatuses = [200, 204, 206, 304, 400, 404, 500]
  private var resets: ResetBucket

  /// - Parameter windows: what receive windows grow from; nil: only the bound of each connection holds.
  public init(limits: SessionLimits, windows: (any WindowBudget)? = nil, now: Int64) {
    resets = ResetBucket(now: now)
    super.init(isServer: true, limits: limits, windows: windows, now: now)
  }

  /// Names that the app wants never indexed: for `ClientSession.submit`.
  public func marked(_ ticket: StreamTicket) -> IndexedNames { stream(ticket)?.marked ?? [] }

  /// Sends a head of an answer. If its framing has bytes, `append` and `endBody` follow.
  /// - Parameter head: as it would be written to an app of HTTP/1.1, with the empty line; fields that belong to a connection of HTTP/1.1
  ///   are left out.
  public func answer(_ ticket: StreamTicket, head: UnsafeRawBufferPointer) -> Answered {
    guard let stream = stream(ticket), !stream.isClosed, failure == nil else { return .gone }
    guard !stream.sending.hasFinalHead else { return .unfit }
    outbound.answerText.reset()
    guard outbound.answerText.parse(head, limit: .max) == .complete,
      let framing = try? outbound.answerText.framing(to: stream.isHeadRequest ? .head : .get, in: head)
    else { return .unfit }
    let isInterim = outbound.answerText.isInterim
    guard 100..<600 ~= outbound.answerText.status, outbound.answerText.status != 101 else { return .unfit }
    outbound.fields.clear()
    let isStatic = Self.staticStatuses.contains(outbound.answerText.status)
    outbound.fields.append(":status", UnsafeRawBufferPointer(rebasing: head[9..<12]), indexed: isStatic)
    outbound.fields.append(outbound.answerText.fields, of: head, secretFrom: .max, marked: [])
    guard outbound.fields.size <= SessionLimits.sentHeaderBlock else { return .unfit }
    stream.sending.gaveHead()
    if isInterim {
      nghttp2_submit_headers(handle, Library.flagsNone, stream.id, nil, outbound.fields.fields, outbound.fields.count, nil)
      return .interim
    }
    stream.sending.hasFinalHead = true
    if framing.hasBytes {
      var body = nghttp2_data_provider()
      body.source.ptr = Unmanaged.passUnretained(stream).toOpaque()
      body.read_callback = Callbacks.readData
      nghttp2_submit_response(handle, stream.id, outbound.fields.fields, outbound.fields.count, &body)
    } else {
      stream.sending.ends = true
      nghttp2_submit_response(handle, stream.id, outbound.fields.fields, outbound.fields.count, nil)
    }
    return .final(framing)
  }

  /// Begins to drain: the app learns that it should open no more streams here, but those on their way are served.
  public func beginDrain() {
    if failure == nil { nghttp2_submit_shutdown_notice(handle) }
  }

  /// Ends draining, a round trip later: streams that the app opens from now on are not served.
  public func endDrain() {
    guard failure == nil else { return }
    let last = nghttp2_session_get_last_proc_stream_id(handle)
    nghttp2_submit_goaway(handle, Library.flagsNone, last, ErrorCode.noError.rawValue, nil, 0)
  }

  // MARK: Requests

  override func beginSection(_ id: Int32, isTrailer: Bool) -> Bool {
    if isTrailer {
      guard let stream = stream(id: id), !stream.isOver else { return false }
      stream.section.begin()
      inbound.current = Unmanaged.passUnretained(stream)
      return true
    }
    inbound.budget.earn()
    guard openStreams < limits.streams else {
      nghttp2_submit_rst_stream(handle, Library.flagsNone, id, ErrorCode.refusedStream.rawValue)
      return false
    }
    let stream = newStream(id: id)
    nghttp2_session_set_stream_user_data(handle, id, Unmanaged.passUnretained(stream).toOpaque())
    // Streams are served in turn, whatever the app says.
    var priority = nghttp2_extpri(urgency: 3, inc: 1)
    nghttp2_session_change_extpri_stream_priority(handle, id, &priority, 1)
    stream.section.begin()
    request.begin()
    inbound.current = Unmanaged.passUnretained(stream)
    return true
  }

  override func field(
    _ stream: StreamState, _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, neverIndexed: Bool
  ) -> Bool {
    stream.section.size += name.count + value.count + 32
    let isTooLarge = stream.section.size > limits.headerSection
    if stream.section.kind == .trailers {
      if isTooLarge {
        refuse(stream, .enhanceYourCalm, .headTooLarge)
        return false
      }
      AnswerText.append(name, FieldName(name), value, to: &stream.section.text)
    } else if isTooLarge {
      request.isTooLarge = true
    } else {
      request.append(name, value, neverIndexed: neverIndexed)
    }
    return true
  }

  override func endSection(_ stream: StreamState, ends: Bool) {
    guard !stream.isOver else { return }
    if stream.section.kind == .trailers {
      let text = stream.section.end()
      if !stream.body.isDiscarded { events.append(.trailers(stream.ticket, text)) }
      return
    }
    stream.marked = request.marked
    stream.isHeadRequest = request.isHead
    if let reason = request.problem() {
      stream.body.isDiscarded = true
      _ = stream.section.end()
      events.append(.refused(stream.ticket, RefusedRequest(reason, isHead: request.isHead)))
    } else {
      stream.body.length = request.length
      request.write(to: &stream.section.text, ends: ends)
      events.append(.head(stream.ticket, stream.section.end(), ends: ends))
    }
  }

  override func ended(_ stream: StreamState) {
    if !stream.body.isDiscarded { events.append(.end(stream.ticket)) }
  }

  // MARK: Answers

  override func answered(_ stream: StreamState) {
    guard !stream.isOver else { return }
    stream.isOver = true
    events.append(.sent(stream.ticket))
    // An early answer: the app need not send the rest of its request (RFC 9113 section 8.1).
    if !stream.body.isWhole { abandon(stream, .noError) }
  }

  // MARK: Resets

  override func closed(_ stream: StreamState?, _ code: ErrorCode) {
    if let stream, stream.resetCode != nil, !stream.sending.isOver { count() }
  }

  /// Those that the driver asked for have codes of their own. An app that has not read our SETTINGS cannot know how many streams it may have.
  override func sentReset(_ code: ErrorCode) {
    if code == .refusedStream, !inbound.knowsOurs { return }
    if code != .noError, code != .cancel, code != .internalError { count() }
  }

  private func count() {
    if !resets.take(now: now) { fail(.resets) }
  }
}
