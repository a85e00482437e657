import CSystem
import EventIO
import Proxy
import Settings

/// Why the proxy cannot start, or a reload fails.
public struct StartError: Error, CustomStringConvertible {
  public enum Kind: Sendable { case bind, load }
  public let kind: Kind
  public let description: String
}

/// The step from the open sockets to those that the new configuration needs. Keeps sockets that stay, and binds new ones without
/// using them, so that `takeBack` can undo everything.
struct ListenerPlan {
  /// Milliseconds that a busy loop may close a retired listener late.
  private static let patience = 2_000
  /// As configured, in that order.
  private(set) var listeners: [BoundListener] = []
  /// Listeners that the new configuration no longer has.
  private(set) var leaving: [BoundListener] = []
  private var created: [ListeningSocket] = []
  private var sharing: [ListeningSocket] = []
  private var permitted: [(socket: ListeningSocket, before: ListeningSocket.Access)] = []

  /// Listeners of earlier configurations whose loops still accept what the kernel's queues held.
  private let lingering: [BoundListener]

  /// Binds the new sockets. If one fails, undoes everything and throws. Waits for those of `lingering` that hold an address which is
  /// wanted again.
  init(from old: [BoundListener], lingering: [BoundListener] = [], to wanted: [ListenerSettings]) throws(StartError) {
    self.lingering = lingering
    var free = old
    // An address that stays keeps its socket, even if its other settings change.
    let kept = wanted.map { settings in
      let index = free.firstIndex { $0.settings == settings } ?? free.firstIndex { Self.isSame($0, settings.endpoint) }
      return index.map { free.remove(at: $0) }
    }
    leaving = free
    do {
      for (settings, kept) in zip(wanted, kept) {
        if let kept {
          listeners.append(try keep(kept, settings))
        } else {
          let socket = try bind(settings.endpoint)
          created.append(socket)
          listeners.append(BoundListener(socket: socket, settings: settings))
        }
      }
      for socket in created where !socket.isListening { try socket.listen() }
      // Only processes of the same user could share the port. The next plan switches it on again if it needs to.
      for socket in sharing + created { socket.sharePort(false) }
    } catch {
      takeBack()
      throw (error as? StartError) ?? StartError(kind: .bind, description: "\(error)")
    }
  }

  /// Undoes everything. The old sockets stay as they were.
  func takeBack() {
    for socket in created { socket.close() }
    for socket in sharing { socket.sharePort(false) }
    for (socket, before) in permitted { try? socket.permit(before) }
  }

  private mutating func keep(_ kept: BoundListener, _ settings: ListenerSettings) throws -> BoundListener {
    if kept.settings == settings { return kept }
    if let access = try Self.access(settings.endpoint), let before = try Self.access(kept.settings.endpoint), access != before {
      permitted.append((kept.socket, before))
      try kept.socket.permit(access)
    }
    return BoundListener(socket: kept.socket, settings: settings)
  }

  private mutating func bind(_ endpoint: ListenerSettings.Endpoint) throws -> ListeningSocket {
    switch endpoint {
    case .tcp(let host, let port):
      guard let address = Address(literal: host, port: port) else {
        throw StartError(kind: .bind, description: "\(host) is not an address")
      }
      // If 0.0.0.0:3128 replaces 127.0.0.1:3128, or the reverse, both are bound for a moment.
      for former in lingering where Self.overlap(former.socket.address, address) {
        former.socket.awaitClose(milliseconds: former.linger + Self.patience)
      }
      let overlapping = leaving.map(\.socket).filter { Self.overlap($0.address, address) }
      for socket in overlapping { socket.sharePort(true) }
      sharing += overlapping
      return try ListeningSocket(reserving: address, sharesPort: !overlapping.isEmpty)
    case .unix(let path, _, _, _):
      return try ListeningSocket(reserving: Address(unixPath: path), access: try Self.access(endpoint) ?? .init())
    case .inherited(let descriptor): return try ListeningSocket(inherited: descriptor)
    }
  }

  /// Whether the listener is bound to exactly this address. A port 0 matches the port that it got.
  private static func isSame(_ listener: BoundListener, _ endpoint: ListenerSettings.Endpoint) -> Bool {
    switch (listener.settings.endpoint, endpoint) {
    case (.unix(let old, _, _, _), .unix(let new, _, _, _)): old == new
    case (.tcp, .tcp(let host, let port)):
      listener.settings.endpoint == endpoint || listener.socket.address == Address(literal: host, port: port)
    default: listener.settings.endpoint == endpoint
    }
  }

  private static func overlap(_ one: Address, _ other: Address) -> Bool {
    guard one.port == other.port, other.port != 0, one.family == other.family, one.family != AF_UNIX else { return false }
    return one == other || one.isAny || other.isAny
  }

  private static func access(_ endpoint: ListenerSettings.Endpoint) throws(StartError) -> ListeningSocket.Access? {
    guard case .unix(_, let mode, let owner, let group) = endpoint else { return nil }
    return ListeningSocket.Access(mode: mode, owner: try Owner.user(owner), group: try Owner.group(group))
  }
}

extension Address {
  /// 0.0.0.0 or [::].
  var isAny: Bool {
    guard let words else { return false }
    return words.high == 0 && (words.low == 0 || words.low == 0xffff_0000_0000)
  }
}

/// Users and groups by name or number.
private enum Owner {
  static func user(_ name: String?) throws(StartError) -> UInt32? {
    guard let name else { return nil }
    if let number = UInt32(name) { return number }
    guard let entry = getpwnam(name) else { throw StartError(kind: .bind, description: "no such user: \(name)") }
    return entry.pointee.pw_uid
  }
  static func group(_ name: String?) throws(StartError) -> UInt32? {
    guard let name else { return nil }
    if let number = UInt32(name) { return number }
    guard let entry = getgrnam(name) else { throw StartError(kind: .bind, description: "no such group: \(name)") }
    return entry.pointee.gr_gid
  }
}
