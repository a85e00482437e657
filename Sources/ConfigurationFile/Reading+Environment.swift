import Credentials
import Settings
import WayOut

/// Reads what `via: environment` means.
extension Reading {
  struct EnvironmentDraft {
    var ways = WayTable.Environment()
    var parents: [ParentSettings] = []
    /// Of userinfo in variables, by name.
    var credentials: [String: CredentialPolicy] = [:]
  }

  /// - Parameters:
  ///   - place: of the first `environment`.
  ///   - index: of the first of these parents in `Settings.parents`.
  ///   - credentials: the names in the file.
  func environmentWays(
    at place: Place, firstIndex index: Int, credentials: Set<String>, trust: TrustRules
  ) -> EnvironmentDraft {
    var draft = EnvironmentDraft()
    let variables = ProxyVariables(environment)
    var known: [ParentURL: Int] = [:]
    for variable in variables.parents {
      guard let url = parentURL(variable, at: place) else { continue }
      // One parent and one account, however many variables name it: a refused password is not sent once for each.
      let isNew = known[url] == nil
      let number = known[url] ?? index + draft.parents.count
      known[url] = number
      let reference = WayTable.Environment.Parent(variable: variable.variable, name: .parent(number))
      switch variable.name {
      case "https_proxy": draft.ways.https = reference
      case "http_proxy": draft.ways.http = reference
      default: draft.ways.all = reference
      }
      guard isNew, let (parent, credential) = parent(variable, url, at: place) else { continue }
      if parent.scheme == .https, trust.allMustBeNamed {
        error(
          place,
          "environment: \(variable.variable) is an https:// parent without 'trust', but all_hosts_must_be_evaluated is true; write "
            + "it into 'parents'")
      }
      if let credential {
        if parent.scheme == .https, let gap = trust.gap(nil) {
          error(
            place,
            "environment: \(variable.variable) has a password, but trust \(shown(gap.name)) \(gap.what); write the parent into 'parents'"
          )
        }
        if credentials.contains(credential.name) {
          error(place, "environment: the name of credential \(shown(credential.name)) is taken; rename the one in the file")
        }
        draft.credentials[credential.name] = credential
      }
      draft.parents.append(parent)
    }
    if let exceptions = variables.exceptions {
      for (text, pattern) in ProxyVariables.patterns(exceptions.value) {
        if let pattern {
          draft.ways.exceptions.append(.init(text: text, pattern: pattern))
        } else {
          warning(
            place, "environment: \(shown(text)) in \(exceptions.variable) is neither a host nor an address; it has no effect")
        }
      }
    }
    return draft
  }

  /// With its port.
  private func parentURL(_ variable: ProxyVariables.Variable, at place: Place) -> ParentURL? {
    do throws(HostError) {
      // As other programs read them: without a scheme it is http://, and the port has a default.
      var url = try ParentURL(parsing: variable.value, scheme: .http)
      guard !url.hasTarget else { throw HostError("has a path or a query") }
      url.port = url.port ?? Self.standardPort(url.scheme)
      return url
    } catch {
      self.error(place, "environment: \(variable.variable) \(error)")
      return nil
    }
  }

  private func parent(
    _ variable: ProxyVariables.Variable, _ url: ParentURL, at place: Place
  ) -> (parent: ParentSettings, credential: CredentialPolicy?)? {
    do throws(HostError) {
      let credential = try url.userinfo.map { (text) throws(HostError) in try login(text, variable, url.scheme) }
      let parent = ParentSettings(
        name: variable.name, scheme: url.scheme, host: url.host, port: url.port ?? Self.standardPort(url.scheme),
        credential: credential?.name, resolvesHere: url.scheme == .socks5)
      return (parent, credential)
    } catch {
      self.error(place, "environment: \(variable.variable) \(error)")
      return nil
    }
  }

  private static func standardPort(_ scheme: Hop.Scheme) -> UInt16 {
    switch scheme {
    case .https: 443
    case .socks5, .socks5h: 1080
    case .http, .origin: 80
    }
  }

  /// The proxy may send it in the clear: there is no place to say `allow_plaintext`, and every other program does.
  private func login(
    _ userinfo: String, _ variable: ProxyVariables.Variable, _ scheme: Hop.Scheme
  ) throws(HostError) -> CredentialPolicy {
    let parts = userinfo.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let user = Self.decoded(parts[0]), let password = Self.decoded(parts.count > 1 ? parts[1] : ""),
      let username = String(validating: user, as: UTF8.self)
    else { throw HostError("has a user or password with a wrong %-escape") }
    guard FieldText.hasNoControls(user), FieldText.hasNoControls(password), !user.contains(UInt8(ascii: ":")) else {
      throw HostError("has a user with a ':', or a user or password with a control character")
    }
    if scheme == .socks5 || scheme == .socks5h {
      // RFC 1929 section 2.
      guard (1...255).contains(user.count), (1...255).contains(password.count) else {
        throw HostError("has a user or password that is empty or over 255 bytes, which SOCKS does not allow")
      }
    }
    let name = "environment:\(variable.name)"
    let secret = Secret(password)
    secretSources["credentials.\(name).basic.password"] = .environment(name: variable.variable, value: secret)
    return CredentialPolicy(name: name, kind: .basic(username: username, password: secret), allowPlaintext: true)
  }

  /// Percent-decodes; nil: a `%` without two hexadecimal digits.
  private static func decoded(_ text: Substring) -> [UInt8]? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard rest.count >= 2, rest.prefix(2).allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return bytes
  }
}
