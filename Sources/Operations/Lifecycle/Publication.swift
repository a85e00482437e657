import Files
import Interception
import Logging
import Proxy
import Settings
import TLS

/// Writes what apps are given into the folder `intercept.publish`.
struct Publication: Sendable {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// The roots that apps have been given; nil: nothing is published.
  private(set) var roots: [Certificate]?

  /// Blocks.
  /// - Parameters:
  ///   - mayChangeRoots: false: a changed root waits for an operator's demand, as whoever may write a watched file must not choose whom
  ///     apps trust.
  ///   - now: seconds since 1970.
  mutating func follow(_ snapshot: Snapshot, mayChangeRoots: Bool, now: Int64, _ logger: Logger) throws(Failure) {
    guard let intercept = snapshot.intercept, let path = intercept.publish else {
      roots = nil
      return
    }
    var next = intercept.authorities.roots(at: now)
    if !mayChangeRoots, let roots, roots != next {
      logger.warning("the roots have changed with a watched file: they are published with the next SIGHUP")
      next = roots
    }
    do {
      let system = try snapshot.settings.systemRoots ?? SystemRoots.read()
      let files = try PublishedFiles(
        roots: next, system: system, environment: AppEnvironment(folder: path, proxy: snapshot.settings.proxyURL))
      let folder = try Folder(path, makes: true)
      if folder.isWritableByOthers {
        logger.warning("others may write the folder of intercept.publish: apps would trust what they put there")
      }
      try files.write(to: folder)
    } catch { throw Failure(description: "intercept.publish: \(path): \(error)") }
    roots = next
  }
}
