import CSystem
import EventIO
import Proxy
import Settings

/// One loop's access log: a line a request, formatted as bytes into a buffer of its own and handed on in pieces.
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

  func add(_ request: borrowing Summary) {
    let wall = csys_wall_clock()
    var line = LineWriter(json: format.isJSON, reusing: buffer)
    line.add("time", clock.text(nanosecondsSince1970: wall))
    line.add("level", "info")
    line.add("message", request.isTunnel ? "tunnel" : "request")
    if let client = request.client { line.add("client", client) }
    if let peer = request.peer { line.add("peer", peer.description) }
    line.add("method", request.method)
    line.add("authority", request.authority)
    line.add("path", request.path)
    line.add("status", request.status)
    line.add("author", request.author == .upstream ? "upstream" : "proxy")
    if let error = request.error { line.add("error", error) }
    if let details = request.details { line.add("details", details) }
    line.add("bytes_in", request.bytesReceived)
    line.add("bytes_out", request.bytesSent)
    line.add("duration_ms", nanoseconds: request.ended - request.started)
    if request.waitedForCredential > 0 { line.add("credential_wait_ms", nanoseconds: request.waitedForCredential) }
    if request.connectStarted > 0, request.connected > 0 {
      line.add("connect_ms", nanoseconds: request.connected - request.connectStarted)
    }
    if request.secured > 0 { line.add("tls_ms", nanoseconds: request.secured - request.connected) }
    if request.firstByte > 0 { line.add("first_byte_ms", nanoseconds: request.firstByte - request.started) }
    if let entry = request.entry { line.add("upstream", entry.settings.name) }
    if let address = request.upstreamAddress {
      line.add("upstream_address", address.description)
      line.add("reused", request.reusedConnection)
    }
    if let credential = request.credential {
      line.add("credential", credential)
      line.add("credential_version", Int64(clamping: request.credentialVersion))
    }
    line.add("attempts", request.attempts)
    if let trust = request.trust { line.add("trust", trust) }
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
