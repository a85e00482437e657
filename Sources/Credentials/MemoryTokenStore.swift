import Synchronization

/// Keeps records for the life of the process, also across reloads.
public final class MemoryTokenStore: TokenStore {
  private struct State: Sendable {
    var records: [String: TokenRecord] = [:]
    var locked: Set<String> = []
  }
  private let state = Mutex(State())

  public init() {}

  public var isShared: Bool { false }

  public func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer {
    state.withLock { state in
      switch request {
      case .read:
        guard state.locked.insert(credential).inserted else { return .busy() }
        return .record(state.records[credential])
      case .confirm: return .record(state.records[credential])
      case .claim(let record):
        guard state.locked.contains(credential) else { return .failed("claimed without its lock") }
        state.records[credential] = record
        return .claimed()
      case .save(let record), .note(let record):
        guard state.locked.contains(credential) else { return .failed("written without its lock") }
        state.records[credential] = record
        return .saved
      case .putBack: return .released
      case .release:
        state.locked.remove(credential)
        return .released
      case .look: return .seen(state.records[credential], TokenStoreMark(values: []))
      }
    }
  }
}
