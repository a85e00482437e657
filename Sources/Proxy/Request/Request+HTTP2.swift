import Forwarding
import HTTPWire
import Upstreams

/// Requests of entries that speak HTTP/2 where their origin does.
extension Request {
  /// A gRPC call may wait for as long as it says itself, or as a tunnel may: its messages come when they come.
  func noteCall(_ bytes: UnsafeRawBufferPointer, _ entry: Entry) {
    guard services.requestHead.isCall(in: bytes) else { return }
    record.target.isCall = true
    way?.stall = services.requestHead.callTimeout(in: bytes).map { $0 + 1_000_000_000 } ?? entry.timeouts.tunnel
  }

  /// Goes to the pool of the connections that this request may share.
  func offerHTTP2() {
    guard let way, way.pool.mayOfferHTTP2 else { return }
    // Both need a connection of their own, which is spoken 1.1 on (RFC 9113 section 8.6).
    guard !message.outbound.isUpgrade, !message.outbound.authenticatesConnection else { return }
    let credential = way.entry.credential.flatMap { message.outbound.sendsCredential ? snapshot.credentials[$0].serial : nil }
    var streams = StreamIdentity(isRequired: way.entry.settings.httpVersion == .http2, credential: credential)
    streams.indexesFields = way.rules.mayIndexFields && !way.entry.isSigned
    if attempt.isSuspect {
      attempt.isSuspect = false
      streams.isAlone = true
    }
    var authority = UnsafeRawBufferPointer(start: nil, count: 0)
    if way.rules.keepsHost, let head = message.head, let written = WrittenHead(head.bytes) {
      authority = written.host.bytes(in: head.bytes)
    }
    self.way?.pool = way.pool.offering(streams, authority: authority)
  }
}
