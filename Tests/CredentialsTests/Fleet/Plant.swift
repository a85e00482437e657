@testable import Credentials

/// A rule that the border between a process and the store breaks, as if the program lacked it. The simulation must notice.
enum Plant: String, Sendable, CaseIterable {
  case noClaim
  case shortClaim
  /// A process that has lost its claim does not save.
  case saveFencedByHolder
  case blindSave
  /// A refusal is believed without reading again: the reading shows what the claim did.
  case refusalUnread
  case noPutBack
  case ownClock
  case spentWhileDown
}

/// What must never happen, as the simulation has seen it.
enum Finding: String, Sendable, CaseIterable {
  case presentedTwice
  case presentedWithoutClaim
  case sentTooLate
  case newestLost
  case wentBack
  case refusalBelieved
  case wrongExpiry
  case deadTokenTried
  case stuck
}
