import Settings
import Upstreams

extension Worker {
  /// Opens a stream to a host by its way, to look at what it shows. `forbidden_addresses` do not apply, as an operator asks.
  /// - Parameters:
  ///   - entry: whose `via`, `bind` and `address_family` hold; nil: the file's.
  ///   - report: as of `Dial.to`.
  public func look(
    at host: String, port: UInt16, of entry: UpstreamSettings?, report: @escaping (Dial.Progress) -> Void
  ) -> Dial {
    let route = services.snapshot.ways.route(to: host, port: port, isTLS: true, of: entry)
    return Dial.to(Dial.Target(host: host, port: port, checksAddresses: false, route: route), on: upstreams, report: report)
  }
}
