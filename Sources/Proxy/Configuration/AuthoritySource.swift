import Interception
import Settings
import Synchronization

/// The authorities of one configuration after the other: those that it names, and those that the proxy makes for it.
final class AuthoritySource: Sendable {
  let makes: Bool
  /// Of `ca: memory`: they sign on as long as the process lives.
  private let kept = Mutex(SigningCAs([]))

  /// - Parameter makes: false: nothing is made and nothing is written.
  init(makes: Bool) { self.makes = makes }

  /// What `intercept` says, with authorities for all names. Blocks.
  /// - Parameters:
  ///   - previous: what is in use.
  ///   - now: seconds since 1970.
  func complete(
    _ settings: Settings, after previous: InterceptSettings?, now: Int64
  ) throws(AuthoritySupply.Failure) -> InterceptSettings? {
    guard var intercept = settings.intercept, makes else { return settings.intercept }
    let (names, together) = (settings.signedNames, settings.namesTogether)
    switch intercept.source {
    case .files: break
    case .generated(let folder):
      if let previous, previous.source == intercept.source {
        try AuthoritySupply.checkLoss(
          of: previous.authorities, after: intercept.authorities, for: names, in: folder, now: now)
      }
      intercept.authorities = try AuthoritySupply.complete(
        intercept.authorities, for: names, together: together, in: folder, now: now)
    case .memory:
      intercept.authorities = try AuthoritySupply.complete(
        kept.withLock { $0 }, for: names, together: together, in: nil, now: now)
      kept.withLock { $0 = intercept.authorities }
    }
    return intercept
  }
}
