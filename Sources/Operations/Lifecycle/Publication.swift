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

  /// The roots of the configuration that an operator last put into use, by the start or by SIGHUP, published or not, and of those
  /// demanded in vain since. Each with the time when the last of its authorities ends, in seconds since 1970: one that a watched file
  /// brought under the same root counts, too.
  private var demanded: [(root: Certificate, end: Int64)] = []

  /// Whether what is published has the system's roots.
  private var hasSystemRoots = false

  /// Blocks.
  /// - Parameters:
  ///   - isDemanded: false: a watched file changed. Whoever may write that must not choose whom apps trust, so a root that is new waits
  ///     for an operator's demand, also where nothing was published before.
  ///   - now: seconds since 1970.
  mutating func follow(_ snapshot: Snapshot, isDemanded: Bool, now: Int64, _ logger: Logger) throws(Failure) {
    let before = self
    if isDemanded { demanded = Self.roots(of: snapshot) }
    for (root, end) in Self.roots(of: snapshot) {
      for index in demanded.indices where demanded[index].root == root { demanded[index].end = max(demanded[index].end, end) }
    }
    do throws(Failure) { try publish(snapshot, isDemanded: isDemanded, now: now, logger) } catch {
      self = before
      if isDemanded { remember(snapshot) }
      throw error
    }
  }

  /// Keeps the roots of a configuration that an operator demanded in vain. It may have made a CA in the folder of `ca: {generate: ...}`,
  /// which the next change of a watched file puts into use: that publishes its root first, and fails where this fails. So no CA signs
  /// whose root was demanded and not published. The roots in use stay beside it, as they go on to sign until then.
  mutating func remember(_ snapshot: Snapshot) {
    demanded += Self.roots(of: snapshot).filter { new in !demanded.contains { $0.root == new.root } }
  }

  private static func roots(of snapshot: Snapshot) -> [(root: Certificate, end: Int64)] {
    (snapshot.intercept?.authorities.list ?? []).map { ($0.root, $0.notAfter) }
  }

  private mutating func publish(_ snapshot: Snapshot, isDemanded: Bool, now: Int64, _ logger: Logger) throws(Failure) {
    guard let intercept = snapshot.intercept, let path = intercept.publish else {
      if isDemanded { hasSystemRoots = false }
      return
    }
    var seen: Set<Certificate> = []
    let roots = demanded.filter { $0.end > now }.map(\.root).filter { seen.insert($0).inserted }
    if roots != intercept.authorities.roots(at: now) {
      logger.warning("the roots have changed with a watched file: they are published with the next SIGHUP")
    }
    // Files without a root of ours would help nobody; by an operator's demand apps lose them all the same.
    if roots.isEmpty, !isDemanded { return }
    let system = snapshot.settings.systemRoots
    // Without them at the start there are none on this machine, which is warned of; later on apps would lose them.
    if hasSystemRoots, system == nil {
      throw Failure(description: "intercept.publish: \(path): the system's roots are gone, which apps were given until now")
    }
    do {
      let files = try PublishedFiles(
        roots: roots, system: system, environment: AppEnvironment(folder: path, proxy: snapshot.settings.proxyURL))
      let folder = try Folder(path, makes: true)
      if folder.isWritableByOthers {
        logger.warning("others may write the folder of intercept.publish: apps would trust what they put there")
      }
      try files.write(to: folder)
      hasSystemRoots = system != nil
    } catch let error as FileError {
      throw Failure(
        description: "intercept.publish: \(path): \(error): apps go on with the files that are there, each of them whole; mend "
          + "this, then start or reload again")
    } catch { throw Failure(description: "intercept.publish: \(path): \(error)") }
  }
}
