import Credentials

/// What a fleet's store is asked for, as metrics count it.
public enum StoreOperation: String, Sendable, CaseIterable {
  case read, claim, save, note, withdraw
  case putBack = "put_back"
}

/// What came of it.
public enum StoreResult: String, Sendable, CaseIterable {
  case ok
  /// Another process was faster: nothing was written.
  case conflict
  case failed
}

/// How an attempt to claim a shared record has ended, as metrics count it.
public enum ClaimResult: String, Sendable, CaseIterable {
  case won
  /// Another process was faster.
  case lost
  /// From a process that neither saved nor gave up in time. Counts beside the outcome.
  case takenOver = "taken_over"

  init(_ report: SharedRecord.Report.Claim) {
    self =
      switch report {
      case .won: .won
      case .lost: .lost
      case .takenOver: .takenOver
      }
  }
}

extension SharedOperation {
  var kind: StoreOperation {
    switch self {
    case .read: .read
    case .write(_, _, .claim): .claim
    case .write(_, _, .save): .save
    case .write(_, _, .note): .note
    case .write(_, _, .withdraw): .withdraw
    case .write(_, _, .putBack): .putBack
    }
  }
}

extension SealedRecord.Reply {
  var result: StoreResult {
    switch self {
    case .value, .stored: .ok
    case .conflict: .conflict
    case .failed: .failed
    }
  }

  /// Unix milliseconds by the store's clock.
  var clock: Int64? {
    switch self {
    case .value(_, let clock), .stored(_, let clock), .conflict(_, let clock): clock
    case .failed: nil
    }
  }
}
