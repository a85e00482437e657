import HTTPWire
import Settings

/// An absolute http or https URL of the configuration. Errors never show the URL, as it may contain a password.
struct URLText {
  private let url: HTTPURL

  var isHTTPS: Bool { url.isHTTPS }
  /// As routing compares hosts: lower-case, IPv6 without brackets.
  var host: String { url.host }
  var port: UInt16 { url.effectivePort }
  /// Path and query as written, or "".
  var target: String { url.pathAndQuery }
  var isLoopback: Bool { url.isLoopback }

  init(parsing text: String) throws(HostError) {
    do throws(HeadError) {
      var url = try HTTPURL(text)
      if url.hostKind == .ipv6, let address = IPAddress.parse(url.host) { url.host = IPAddress.text(v6: address) }
      self.url = url
    } catch {
      switch error {
      case .targetForm, .scheme: throw HostError("must start with https:// or http://")
      case .targetCharacter: throw HostError("contains a space, a control or a non-ASCII character")
      case .userinfo: throw HostError("must not contain a user or password")
      case .fragment: throw HostError("must not have a fragment")
      default: throw Self.problem(ofAuthority: text)
      }
    }
  }

  /// What is wrong with the authority of a URL that has no other mistake.
  private static func problem(ofAuthority text: String) -> HostError {
    let authority = text.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
    do throws(HostError) {
      let (host, port) = try HostName.split(String(authority.prefix { !"/?".contains($0) }))
      if port == 0 { return HostError("has port 0") }
      _ = try HostName.normalized(host)
      return HostError("has an invalid host or port")
    } catch { return error }
  }
}
