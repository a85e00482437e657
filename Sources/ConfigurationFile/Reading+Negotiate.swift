import Credentials
import Settings

/// Reads `credentials.*.negotiate`.
extension Reading {
  /// Types of ticket caches that other programs can keep fresh.
  private static let cacheTypes = ["FILE", "DIR", "KCM", "KEYRING"]

  func negotiate(_ section: Section<NegotiateKeys>) -> CredentialPolicy.Kind? {
    let keytab = section.read(\.keytab)
    let ccache = section.read(\.ccache)
    let password = section.read(\.password)
    let principal = section.read(\.principal)
    let service = section.read(\.servicePrincipal)
    let bindsChannel = section.read(\.channelBinding)
    let mutual = section.read(\.mutual)
    guard section.countOfAlternatives == 1 else {
      if section.countOfAlternatives > 0 || !section.isMisspelt(NegotiateKeys.alternatives) {
        let sources = listed(NegotiateKeys.alternativeNames.map { "'\($0)'" }, "and")
        error(section.place, "\(section.path.shown) must have one of \(sources)")
      }
      return nil
    }
    if section.has(\.password), !section.require(\.principal, because: "with 'password'") { return nil }
    let isGood = [
      principal.map { isPrincipal($0, section.path(\.principal)) },
      service.map { isPrincipal($0, section.path(\.servicePrincipal)) },
    ].allSatisfy { $0 ?? true }
    guard isGood else { return nil }
    let source: NegotiatePolicy.Source
    if let keytab {
      source = .keytab(keytab.value)
    } else if let ccache {
      guard let cache = ticketCache(ccache, section.path(\.ccache)) else { return nil }
      source = .cache(cache)
    } else if let password {
      guard !password.value.bytes.contains(0) else {
        error(password.place, "\(section.path(\.password).shown) contains a NUL")
        return nil
      }
      source = .password(password.value)
    } else {
      return nil
    }
    return .negotiate(
      NegotiatePolicy(
        source: source, principal: principal?.value, servicePrincipal: service?.value, bindsChannel: bindsChannel,
        mutual: mutual))
  }

  private func isPrincipal(_ written: Located<String>, _ path: KeyPath) -> Bool {
    var (realms, isEscaped, length) = (0, false, 0)
    for byte in written.value.utf8 where realms < 2 {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "@") {
        realms += 1
      }
      if realms == 0 { length += 1 }
    }
    guard FieldText.hasNoControls(written.value.utf8), realms < 2, !isEscaped, length > 0 else {
      error(written.place, "\(path.shown) must be a Kerberos principal, as name@REALM or name, not \(shown(written.value))")
      return false
    }
    return true
  }

  /// With its type, and an absolute path.
  private func ticketCache(_ written: Located<String>, _ path: KeyPath) -> String? {
    let text = written.value
    guard FieldText.hasNoControls(text.utf8) else {
      error(written.place, "\(path.shown) contains a control character")
      return nil
    }
    guard let colon = text.firstIndex(of: ":"), !text.hasPrefix("/") else { return "FILE:" + resolve(text) }
    let (type, residual) = (String(text[..<colon]), String(text[text.index(after: colon)...]))
    guard Self.cacheTypes.contains(type) else {
      error(
        written.place,
        "\(path.shown) must be a ticket cache of type \(listed(Self.cacheTypes, "or")), as FILE:/run/krb5cc, not \(shown(text))"
      )
      return nil
    }
    return type == "FILE" && !residual.isEmpty ? "FILE:" + resolve(residual) : text
  }

  /// The app's own credential would authenticate a connection that is the proxy's.
  func checkNegotiate(_ settings: UpstreamSettings, _ entry: Section<UpstreamKeys>, _ credential: CredentialDraft?) {
    guard case .negotiate? = credential?.policy?.kind, settings.clientAuthorization == .keep else { return }
    error(
      entry.valuePlace(\.clientAuthorization),
      "\(entry.path(\.clientAuthorization).shown) cannot be keep: credential \(shown(settings.credential ?? "")) authenticates "
        + "connections, which an app's own credential would use, too")
  }
}
