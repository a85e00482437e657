import Credentials
import Settings
import WayOut

/// Reads `parents`.
extension Reading {
  /// A parent of the file, as far as it could be read.
  struct ParentDraft {
    var name: Located<String>
    var path: KeyPath
    /// nil after an error.
    var url: Located<ParentURL>?
    var credential: Located<String>?
    var settings: ParentSettings?
  }

  /// What a parent can refer to by name.
  struct ParentContext {
    var trust: TrustRules
    /// nil: unknown, because the section's key is misspelt.
    var credentials: [String: CredentialDraft]?
    /// One credential is read alone: mistakes of others do not count, and a parent that no shared way names keeps its secrets.
    var isPartial = false
  }

  /// The names that `via` or a variable already means.
  private static let takenNames = [ViaWords.direct, ViaWords.environment] + ProxyVariables.names

  func parents(_ root: Section<RootKeys>, _ context: ParentContext) -> [ParentDraft] {
    var drafts: [ParentDraft] = []
    for entry in root.read(\.ways.parents) ?? [] {
      _ = checkName(entry.name, entry.path)
      if Self.takenNames.contains(entry.name.value) {
        error(entry.name.place, "\(entry.path.shown): \(shown(entry.name.value)) has a meaning of its own; choose another name")
      }
      guard let section = entry.value else { continue }
      drafts.append(parent(entry.name, section, context))
    }
    if !context.isPartial { checkShared(drafts, root, context.credentials ?? [:]) }
    return drafts
  }

  private func parent(
    _ name: Located<String>, _ section: Section<ParentKeys>, _ context: ParentContext
  ) -> ParentDraft {
    let text = section.read(\.url)
    let credential = section.read(\.credential)
    let trust = section.read(\.trust)
    let certificate = section.read(\.clientCertificate).flatMap(clientCertificate)?.files
    let resolve = section.read(\.resolve)
    let tunnelHTTP = section.read(\.tunnelHTTP)
    let fields = connectFields(section)
    if let trust { _ = context.trust.check(trust, section.path(\.trust), self) }
    let url = text.flatMap { url in parentURL(url, section).map { Located(value: $0, place: url.place) } }
    if resolve == .here, section.has(\.tunnelHTTP), !tunnelHTTP {
      error(
        section.valuePlace(\.tunnelHTTP),
        "\(section.path(\.tunnelHTTP).shown): false contradicts 'resolve: here': in absolute-form the parent resolves the host")
    }
    var draft = ParentDraft(name: name, path: section.path, url: url, credential: credential)
    guard let url else { return draft }
    checkKeys(section, url.value)
    if url.value.scheme == .https, context.trust.allMustBeNamed, !section.has(\.trust) {
      error(section.place, "\(section.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    if let credential { checkCredential(credential, of: url.value, trust?.value, section, context) }
    draft.settings = ParentSettings(
      name: name.value, scheme: url.value.scheme, host: url.value.host, port: url.value.port ?? 0,
      credential: credential?.value, trust: trust?.value, clientCertificate: certificate,
      resolvesHere: url.value.scheme == .socks5 || resolve == .here, tunnelsHTTP: tunnelHTTP || resolve == .here,
      connectFields: fields)
    return draft
  }

  private func parentURL(_ text: Located<String>, _ section: Section<ParentKeys>) -> ParentURL? {
    do throws(HostError) {
      let url = try ParentURL(parsing: text.value)
      guard url.userinfo == nil else { throw HostError("must not contain a user or password: 'credential' names them") }
      guard !url.hasTarget else { throw HostError("must end after host and port") }
      guard url.port != nil else { throw HostError("needs a port, as in http://proxy.example.com:8080") }
      return url
    } catch {
      self.error(text.place, "\(section.path(\.url).shown) \(error)")
      return nil
    }
  }

  private func checkKeys(_ section: Section<ParentKeys>, _ url: ParentURL) {
    if url.scheme != .https { section.refuse([\.trust, \.clientCertificate], because: "is for https:// parents only") }
    if url.scheme == .socks5 || url.scheme == .socks5h {
      section.refuse([\.tunnelHTTP, \.connectHeaders], because: "is for http:// and https:// parents only")
      section.refuse(
        [\.resolve], because: "is for http:// and https:// parents only; socks5:// resolves here, socks5h:// at the parent")
    }
  }

  // MARK: Fields of the CONNECT request

  /// What the request has already, or what belongs to others than the parent.
  private static let credentialFields = ["proxy-authorization", "authorization", "cookie"]

  private func connectFields(_ section: Section<ParentKeys>) -> [ParentSettings.Field] {
    var fields: [ParentSettings.Field] = []
    for entry in section.read(\.connectHeaders) ?? [] {
      let name = entry.name.value
      let lower = name.lowercased()
      if !FieldText.isToken(name) {
        error(entry.name.place, "\(entry.path.shown) must be an HTTP field name, not \(shown(name))")
      } else if Self.credentialFields.contains(lower) {
        error(entry.name.place, "\(entry.path.shown): a secret for the parent belongs into 'credential'")
      } else if FieldText.ofOneHop.contains(lower) || lower == "content-type" || lower.hasPrefix("proxy-") {
        error(entry.name.place, "\(entry.path.shown): the proxy itself writes \(shown(name)), or leaves it out")
      } else if fields.contains(where: { $0.name.lowercased() == lower }) {
        error(entry.name.place, "\(entry.path.shown): \(shown(name)) is there twice")
      } else if let value = entry.value {
        guard FieldText.isFieldValue(Array(value.value.utf8)) else {
          error(
            value.place,
            "\(entry.path.shown) contains a character that field values cannot have, possibly a line break, or begins or ends "
              + "with a space")
          continue
        }
        fields.append(ParentSettings.Field(name: name, value: value.value))
      }
    }
    return fields
  }

  // MARK: The credential

  private func checkCredential(
    _ name: Located<String>, of url: ParentURL, _ trust: String?, _ section: Section<ParentKeys>, _ context: ParentContext
  ) {
    guard let known = context.credentials else { return }
    let path = section.path(\.credential).shown
    guard let draft = known[name.value] else {
      if context.isPartial { return }
      error(
        name.place,
        "\(path): there is no \(shown(name.value)) in 'credentials'\(suggestion(for: name.value, among: known.keys))")
      return
    }
    if let kind = draft.policy?.kind { checkKind(kind, name, url, path) }
    guard url.scheme == .https else {
      if !draft.allowPlaintext && !url.isLoopback {
        error(
          name.place,
          "\(path): credential \(shown(name.value)) would go to the parent in the clear, over \(url.scheme.rawValue)://; "
            + "say 'allow_plaintext: true' in it to allow this")
      }
      return
    }
    if !draft.allowUntrusted, let gap = context.trust.gap(trust) {
      error(
        section.has(\.trust) ? section.valuePlace(\.trust) : name.place,
        "\(section.path.shown): trust \(shown(gap.name)) \(gap.what); say 'allow_untrusted: true' in credential "
          + "\(shown(name.value)) to allow this")
    }
  }

  private func checkKind(_ kind: CredentialPolicy.Kind, _ name: Located<String>, _ url: ParentURL, _ path: String) {
    let isSOCKS = url.scheme == .socks5 || url.scheme == .socks5h
    switch kind {
    case .basic(let username, let password):
      // RFC 1929 section 2.
      guard isSOCKS else { return }
      for (what, count) in [("user name", username.utf8.count), ("password", password.bytes.count)]
      where !(1...255).contains(count) {
        error(name.place, "\(path): the \(what) of \(shown(name.value)) must have 1 to 255 bytes for a SOCKS parent")
      }
    case .bearer where !isSOCKS, .digest where !isSOCKS, .negotiate where !isSOCKS: return
    default:
      error(
        name.place,
        "\(path): \(shown(name.value)) must be \(isSOCKS ? "basic for a SOCKS parent" : "basic, bearer, digest or negotiate for a parent")"
      )
    }
  }

  /// A parent's credential is for that parent alone: nothing else may send it anywhere.
  private func checkShared(_ drafts: [ParentDraft], _ root: Section<RootKeys>, _ credentials: [String: CredentialDraft]) {
    guard drafts.contains(where: { $0.credential != nil }) else { return }
    var others: [String: (path: String, place: Place)] = [:]
    func use(_ name: String, _ path: KeyPath, _ place: Place) { if others[name] == nil { others[name] = (path.shown, place) } }
    for entry in root.read(\.upstreams)?.items ?? [] {
      if let name = entry.read(\.credential) { use(name.value, entry.path(\.credential), name.place) }
    }
    for draft in credentials.values.sorted(by: { $0.place < $1.place }) {
      for source in draft.sources { use(source.name.value, source.path, source.name.place) }
    }
    for draft in drafts {
      guard let name = draft.credential else { continue }
      let path = draft.path.key(ParentKeys.table.name(\.credential))
      if let other = others[name.value] {
        error(
          name.place,
          "\(path.shown): \(shown(name.value)) is also the \(other.path) at \(other.place); a parent's credential is for that "
            + "parent alone")
      } else {
        others[name.value] = (path.shown, name.place)
      }
    }
  }
}
