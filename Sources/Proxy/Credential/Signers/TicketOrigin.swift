/// What a loop knows of one origin to which it authenticates. Origins of one host, or with one `service_principal`, share a service and its
/// ticket; what one of them refuses says nothing about the others.
final class TicketOrigin {
  let service: LoopTicketService
  private var refusal: (version: UInt64, until: Int64)?

  init(_ service: LoopTicketService) { self.service = service }

  /// It has refused a ticket, and another one is fetched: for `interval` it is not worth one more, unless an answer proves the key.
  /// - Parameters:
  ///   - version: of the refused ticket. Other requests that carried it, or an older one, use what that fetch brings.
  ///   - now: nanoseconds of the loop's clock, as `interval`.
  func refused(_ version: UInt64, now: Int64, interval: Int64) {
    // Late answers to older tickets change nothing for newer ones.
    refusal = (max(version, refusal?.version ?? 0), now + interval)
  }

  /// It has proved that it has the service's key, or the ticket is of another key.
  func forgive() { refusal = nil }

  /// It would refuse the next ticket as it has this one.
  func isVain(_ version: UInt64, now: Int64) -> Bool {
    guard let refusal else { return false }
    return now < refusal.until && version > refusal.version
  }
}
