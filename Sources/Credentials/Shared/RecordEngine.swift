/// The part of a shared store that does I/O: keeps sealed records for all processes of a fleet. One for each process and store, confined to
/// one loop. It calls back on that loop, and never before a method returns, but for `stop`.
public protocol RecordEngine: AnyObject {
  /// Begins to connect. Events follow, and attempts go on until `stop`.
  func start()

  /// Closes everything. Commands that wait are answered with `failed` in this call; nothing is reported any more.
  func stop()

  /// While there is no connection, the command waits for one, at most for the configured time-out.
  /// - Parameter deliver: called exactly once.
  func perform(_ command: SealedRecord.Command, deliver: @escaping (SealedRecord.Reply) -> Void)

  /// Only this process has some new token: without a connection, it tries as often as for a waiting command, once a second.
  var hasUnsaved: Bool { get set }

  /// The processes that read what changes, as the store counted them at the last connection; nil: it does not.
  var readers: Int? { get }
}

/// What an engine reports.
public enum RecordEngineEvent: Sendable, Hashable {
  /// Changes are announced from now on. Earlier ones were missed, so all records in use are read.
  case connected
  /// Said once until it is connected again. The text completes `token store <address>: ...`, and has no secret in it.
  case lost(String)
  /// The record with this key has changed, perhaps by this process itself. May be missed, and may come twice.
  case changed(key: String)
}
