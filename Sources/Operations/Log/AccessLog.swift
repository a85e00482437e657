import CSystem
import EventIO
import Proxy
import Settings

/// One loop's access log: one line per request. Formats lines into its own buffer and passes them on in pieces.
final class AccessLog: EventHandler {
  private static let flushAt = 32 << 10
  private static let flushAfter = 50

  private unowned let loop: EventLoop
  private let output: LogOutput
  private let format: OperationalLogHandler.Format
  private var buffer: [UInt8] = []
  private var clock = TimestampClock()
  private var isScheduled = false

  init(_ loop: EventLoop, _ output: LogOutput, _ format: OperationalLogHandler.Format) {
    self.loop = loop
    self.output = output
    self.format = format
  }

  func add(_ request: borrowing RequestRecord) {
    var line = LineWriter(json: format.isJSON, appendingTo: exchange(&buffer, with: []))
    line.add("time", clock.at(nanosecondsSince1970: csys_wall_clock()))
    line.add("level", "info")
    line.add("message", request.target.isTunnel ? "tunnel" : "request")
    if let client = request.client { line.add("client", client) }
    if let peer = request.peer { line.add("peer", peer) }
    if let sender = request.sender { line.add("sender", sender.address) }
    line.add("method", request.target.method)
    if request.target.isSecure { line.add("scheme", "https") }
    if request.target.isStream { line.add("protocol", "h2") }
    line.add("authority", request.target.authority)
    line.add("path", request.target.path)
    line.add("status", request.answer.status)
    line.add("author", request.answer.author == .upstream ? "upstream" : "proxy")
    if let error = request.answer.error { line.add("error", error) }
    if let details = request.answer.details { line.add("details", details) }
    line.add("bytes_in", request.bytesReceived)
    line.add("bytes_out", request.bytesSent)
    line.add("duration_ms", nanoseconds: request.times.ended - request.times.started)
    if request.times.waitedForCredential > 0 { line.add("credential_wait_ms", nanoseconds: request.times.waitedForCredential) }
    if request.times.connectStarted > 0, request.times.connected > 0 {
      line.add("connect_ms", nanoseconds: request.times.connected - request.times.connectStarted)
    }
    if request.times.secured > 0 { line.add("tls_ms", nanoseconds: request.times.secured - request.times.connected) }
    if request.times.firstByte > 0 { line.add("first_byte_ms", nanoseconds: request.times.firstByte - request.times.started) }
    if let entry = request.upstream.entry { line.add("upstream", entry.settings.name) }
    if let parent = request.upstream.parent { line.add("via", parent) }
    if let address = request.upstream.address {
      line.add(request.upstream.parent == nil ? "upstream_address" : "parent_address", address)
      line.add("reused", request.upstream.isReused)
      if request.upstream.stream > 0 {
        line.add("upstream_protocol", "h2")
        line.add("upstream_stream", Int(request.upstream.stream))
      }
    }
    if let credential = request.credential.name {
      line.add("credential", credential)
      line.add("credential_version", Int64(clamping: request.credential.version))
      if let payload = request.credential.payload {
        line.add("signed", true)
        line.add("payload", payload.rawValue)
      }
    }
    line.add("attempts", request.upstream.attempts)
    if request.upstream.redirects > 0 { line.add("redirects", Int(request.upstream.redirects)) }
    if let trust = request.upstream.trust { line.add("trust", trust) }
    if let cache = request.cache {
      line.add("cache", cache.outcome.result.rawValue)
      if let age = cache.age { line.add("cache_age", age) }
      if let detail = cache.detail { line.add("cache_detail", detail) }
    }
    buffer = line.finish()
    if buffer.count >= Self.flushAt { return flush() }
    if !isScheduled {
      isScheduled = true
      loop.arm(self, afterMilliseconds: Self.flushAfter)
    }
  }

  override func expired(on loop: EventLoop) {
    isScheduled = false
    flush()
  }

  func flush() {
    guard !buffer.isEmpty else { return }
    output.write(buffer)
    buffer = []
    buffer.reserveCapacity(Self.flushAt + 1024)
  }
}
