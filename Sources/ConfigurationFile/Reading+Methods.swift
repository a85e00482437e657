import Routing
import Settings

extension Reading {
  private static let knownMethods = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"]

  /// `methods` of an entry.
  func methods(_ entry: Section<UpstreamKeys>) -> AllowedMethods {
    guard let items = entry.read(\.methods) else { return .all }
    if entry.hasEmptyList(\.methods) {
      error(entry.valuePlace(\.methods), "\(entry.path(\.methods).shown) is empty: the entry would serve no request")
    }
    return AllowedMethods(items.filter { isMethod($0, never: Self.served) }.map(\.text.value))
  }

  private static let served = ["CONNECT": "no entry serves CONNECT; 'connect.allow' says where tunnels may go"]

  /// - Parameter never: why some methods are refused.
  func isMethod(_ item: TextItem, never: [String: String]) -> Bool {
    let (text, path) = (item.text, item.path)
    guard FieldText.isToken(text.value) else {
      error(text.place, "\(path.shown) must be an HTTP method, not \(shown(text.value))")
      return false
    }
    if let why = never[text.value] {
      error(text.place, "\(path.shown): \(why)")
      return false
    }
    let hint = suggestion(for: text.value, among: Self.knownMethods)
    guard hint.isEmpty || Self.knownMethods.contains(text.value) else {
      // Case counts (RFC 9110 section 9.1): what is almost a known method is a mistake, and no app would send it.
      error(text.place, "\(path.shown): \(shown(text.value)) is no method that apps send\(hint)")
      return false
    }
    return true
  }
}
