import Credentials
import EventIO

/// The timer of an owner whose record other processes can change: by a login, a logout or a refresh.
final class StoreWatch: EventHandler {
  /// Milliseconds. Within two of these, every process follows.
  static let interval = 1_000

  private weak var owner: TokenOwner?
  private(set) var store: any TokenStore
  /// Of what was seen last.
  var mark: TokenStoreMark?
  var isLooking = false
  private var hasBegun = false

  init(_ owner: TokenOwner, _ store: any TokenStore) {
    self.owner = owner
    self.store = store
  }

  /// Milliseconds until the next look. Credentials begin together; after the first pause, their looks are spread over the
  /// second.
  func pause() -> Int {
    defer { hasBegun = true }
    return hasBegun ? Self.interval : Int.random(in: 1...Self.interval)
  }

  /// After a reload.
  func follow(_ store: any TokenStore) {
    guard store !== self.store else { return }
    self.store = store
    mark = nil
  }

  func end(on loop: EventLoop) { loop.forget(self) }

  override func expired(on loop: EventLoop) { owner?.look(self) }
}
