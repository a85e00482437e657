import EventIO
import HTTPWire

/// The PROXY header of a listed peer: nothing else of the connection counts before it, and nothing is answered without it.
extension ClientConnection {
  /// What has come so far stands in the block.
  /// - Returns: whether the header was whole, and was taken.
  func takeProxyHeader(_ block: Block) -> Bool {
    switch ProxyHeader.parse(block.bytes) {
    case .incomplete: return false
    case .invalid(let error):
      proxyHeaderFailed("\(error)")
      return false
    case .complete(let header):
      switch header.source {
      case .peer: break
      case .ip(let high, let low, let port): adoptAddress(Address(high: high, low: low, port: port))
      case .unix: adoptAddress(Address(unixPath: ""))
      }
      block.consume(header.length)
      stage = listener.settings.tls == nil ? .http : .tls
      // A reload has taken the sender out of the list while its header came.
      if !isPeerBelieved { drain(grace: 0) }
      armHeadTimer()
      return true
    }
  }

  /// The peer has ended the connection before the header was whole. Without a byte it was a health check.
  func proxyHeaderEnded() {
    if inbound?.isEmpty == false { proxyHeaderFailed("it was cut") } else { close() }
  }

  func proxyHeaderFailed(_ reason: String) {
    let place = listener.socket.address
    services.observer.proxyHeaderFailed(at: place)
    notice("connection to \(place) without a valid PROXY header: closed, \(reason)", about: "PROXY \(place)")
    close()
  }
}
