import EventIO
import RedisProtocol

/// The further nodes of a cluster, to which the first connection redirected. Each has one connection, made when the first record of
/// it is asked for. A prefix with a hash tag (`{authproxy}:`) keeps all records on one node.
final class RedisCluster {
  /// Of one operation. A cluster that is being changed redirects twice.
  private static let mostRedirections = 5
  private static let mostNodes = 16
  private static let mostOwners = 4_096

  private let settings: RedisSettings
  private let security: RedisSecurity
  private unowned let loop: EventLoop
  /// The first connection; nil: there is none now.
  var home: RedisLink?
  private var nodes: [RedisAddress: RedisLink] = [:]
  /// Who was last said to have a record.
  private var owners: [[UInt8]: RedisAddress] = [:]

  init(_ settings: RedisSettings, _ security: RedisSecurity, on loop: EventLoop) {
    self.settings = settings
    self.security = security
    self.loop = loop
  }

  /// nil: no further node is known to have the record.
  func node(of operation: RedisOperation) -> RedisLink? { owners[operation.key].flatMap { nodes[$0] } }

  /// - Parameters:
  ///   - node: nil: the server named none that can be asked.
  ///   - asking: for this operation only.
  func redirect(_ operation: RedisOperation, to node: RedisNode?, from link: RedisLink, asking: Bool) {
    guard let node, let address = link.address.other(host: node.host, port: node.port) else {
      return operation.fail(.refused(RedisRefusal(.moved(nil), code: asking ? "ASK" : "MOVED")))
    }
    operation.redirections += 1
    guard operation.redirections <= Self.mostRedirections else { return operation.fail(.tooManyRedirections) }
    if !asking {
      if owners.count >= Self.mostOwners { owners = [:] }
      owners[operation.key] = address == home?.address ? nil : address
    }
    if let known = address == home?.address ? home : nodes[address] { return known.submit(operation, asking: asking) }
    guard makeRoom() else { return operation.fail(.tooManyRedirections) }
    let session = RedisSession(.node, login: settings.login, timeout: settings.timeout)
    let made = RedisLink(to: address, session, security, timeout: settings.timeout, on: loop) { [unowned self] in
      self.happened($0, $1)
    }
    nodes[address] = made
    made.submit(operation, asking: asking)
    made.start()
  }

  /// - Returns: whether there is room for another node.
  private func makeRoom() -> Bool {
    guard nodes.count >= Self.mostNodes else { return true }
    guard let idle = nodes.values.first(where: { $0.load == 0 }) else { return false }
    forget(idle)
    idle.close(.stopped)
    return true
  }

  private func forget(_ link: RedisLink) {
    if nodes[link.address] === link { nodes[link.address] = nil }
    owners = owners.filter { $0.value != link.address }
  }

  private func happened(_ link: RedisLink, _ event: RedisLink.Event) {
    switch event {
    case .ready, .changed: break
    case .redirected(let operation, let node, let asking): redirect(operation, to: node, from: link, asking: asking)
    // The first connection knows who has its records now.
    case .ended: forget(link)
    }
  }

  func close(_ reason: RedisFailure) {
    let all = nodes.values
    nodes = [:]
    owners = [:]
    for node in all { node.close(reason) }
  }
}
