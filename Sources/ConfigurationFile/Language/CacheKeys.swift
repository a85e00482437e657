import Cache
import Settings

/// `upstreams.cache`.
struct CacheKeys: KeySet {
  static let table = KeyTable(CacheKeys())
  /// Nothing is stored, and nothing collapsed.
  static let off = "off"
  private static let standard = CacheRules()

  let share = Key(
    "share", .choice([CacheRules.Share.client, .everyone, .all, .credential]), default: standard.share,
    "Says whose requests one stored answer may serve.")
  let maxObject = Key(
    "max_object", .size(1...(1 << 40)), default: standard.maxObject,
    "Bounds a stored body, and is at most an eighth of 'limits.cache'; larger answers pass.")
  let defaultLifetime = Key(
    "default_ttl", .lifetime, .text("0s"),
    "Sets how long an answer is fresh that does not say it; heuristic is a tenth of the time since Last-Modified.")
  let minimumLifetime = Key(
    "minimum_ttl", .seconds, default: standard.minimumLifetime,
    "Takes every stored answer as fresh for this long, even if its origin says less.")
  let staleWhileRevalidate = Key(
    "stale_while_revalidate", .seconds, default: standard.staleWhileRevalidate,
    "Sets how long a stale answer is sent at once, while the proxy validates it.")
  let staleIfError = Key(
    "stale_if_error", .seconds, default: standard.staleIfError,
    "Sets how long a stale answer is sent while its origin or its token server fails.")
  let collapse = Key(
    "collapse", .choice([CacheRules.Collapse.storable, .all, .off]), default: standard.collapse,
    "Says which identical GETs in flight wait for the answer to one of them.")
  let ignoreHeaders = Key(
    "ignore_headers", .texts(.fieldPattern), .list([]),
    "Lists fields of requests that do not tell them apart; a name may end in *, and * alone means all but those in Vary.")
  let clientDirectives = Key(
    "client_directives", .choice([ClientDirectives.honour, .ignore]), default: .honour,
    "Says whether Cache-Control and Pragma of requests count.")

  enum ClientDirectives: String, Sendable { case honour, ignore }
}

extension Form where Value == Int64 {
  /// Whole seconds, as Age and max-age have them.
  static var seconds: Form {
    Form(shape: .longDuration(0...Units.longestDuration)) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      return reading.seconds(text, written.path)
    } write: {
      .text(Units.text(duration: Int($0) * 1000))
    }
  }
}

extension Form where Value == CacheRules.DefaultLifetime {
  private static var heuristic: String { "heuristic" }

  static var lifetime: Form {
    let shape = Shape.oneOf([.words([heuristic]), .longDuration(0...Units.longestDuration)])
    return Form(shape: shape) { reading, written in
      guard let text = reading.text(written.node, written.path) else { return nil }
      if text.value == heuristic { return .heuristic }
      return reading.seconds(text, written.path, or: heuristic).map { .seconds($0) }
    }
  }
}

extension Reading {
  /// - Parameter word: what the key may be besides a duration.
  fileprivate func seconds(_ text: Located<String>, _ path: KeyPath, or word: String? = nil) -> Int64? {
    let hint = word.map { "; or \($0)" } ?? ""
    do throws(UnitError) {
      let milliseconds = try Units.longDuration(text.value)
      if milliseconds % 1000 == 0 { return Int64(milliseconds / 1000) }
      error(text.place, "\(path.shown) must be whole seconds, not \(shown(text.value))\(hint)")
    } catch {
      self.error(text.place, "\(path.shown): \(shown(text.value)) \(error)\(hint)")
    }
    return nil
  }
}
