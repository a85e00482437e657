import Credentials
import Crypto
import Files
import Glibc
import Interception
import Routing
import Settings
import TLS

extension Reading {
  /// What `intercept` must fit.
  struct InterceptContext {
    var upstreams: [UpstreamDraft]
    var listeners: [ListenerSettings]
    var connectAllow: [(pattern: HostPattern, item: TextItem)]
  }

  struct InterceptDraft {
    var settings: InterceptSettings
    /// False where a CA is wrong or still to be made: what it may sign for is not known.
    var knowsSigners: Bool
  }

  func intercept(_ root: Section<RootKeys>, _ context: InterceptContext) -> InterceptDraft? {
    let matches = context.upstreams.flatMap(\.matches).filter { $0.match.scheme == .https }
    checkTunnels(context, matches)
    guard let section = root.read(\.intercept) else {
      if !root.mentions(\.intercept) {
        for match in matches {
          error(match.place, "\(match.path.shown) is https://, for which 'intercept' is missing: it says who signs")
        }
      }
      return nil
    }
    if isDebuggable {
      error(
        root.keyPlace(\.intercept),
        "intercept and --allow-debugging exclude each other: whoever reads the memory of the process could sign as its CA")
    }
    let publish = section.read(\.publish)
    var draft = authorities(section, hasPublish: section.mentions(\.publish))
    var settings = draft.settings
    settings.leafLifetime = section.read(\.leafLifetime)
    settings.leafCache = section.read(\.leafCache)
    settings.minimumVersion = section.read(\.minVersion)
    settings.publish = publish.map { Self.withoutSlashes($0.value) }
    if let publish { checkPublish(publish, section, settings) }
    let isForListeners = context.listeners.contains { $0.tls?.names.isEmpty == false }
    if matches.isEmpty && !isForListeners && !root.isMisspelt(\.upstreams) {
      warning(root.keyPlace(\.intercept), "intercept has no effect: no match says https://, and no listener has 'tls.names'")
    }
    if draft.knowsSigners { checkSigners(matches, settings.authorities) }
    if settings.source != .files { checkBounds(matches) }
    draft.settings = settings
    return draft
  }

  // MARK: Authorities

  private var readsAuthorities: Bool { !makesAuthorities && !isDebuggable }

  private func authorities(_ section: Section<InterceptKeys>, hasPublish: Bool) -> InterceptDraft {
    var cas: [SigningCA] = []
    var source = InterceptSettings.Source.files
    let written = section.read(\.ca)
    let isList = if case .sequence? = section.written(\.ca)?.node.content { true } else { false }
    for item in written?.items ?? [] {
      switch item {
      case .text(let text, let path):
        guard text.value == AuthorityKeys.memory else {
          error(
            text.place,
            "\(path.shown) must be a CA with 'certificate' and 'key', {generate: ...} or memory, not \(shown(text.value))")
          continue
        }
        if isList {
          error(text.place, "\(path.shown) must stand alone, not in a list: \(AuthorityKeys.memory) makes what it needs")
        }
        source = .memory
        if hasPublish {
          warning(text.place, "\(path.shown) is memory: after each start apps need the published files again; it is for demos")
        } else {
          error(text.place, "\(path.shown) is memory and wants 'publish': nobody could trust what no file holds")
        }
      case .section(let entry):
        if let folder = entry.read(\.generate) {
          source = .generated(folder: Self.withoutSlashes(folder.value))
          if isList {
            error(folder.place, "\(entry.path(\.generate).shown) must stand alone, not in a list: the folder is a list")
          }
          _ = authority(entry)
          entry.refuse([\.certificate, \.key, \.passphrase, \.allowUnconstrained], because: "has no meaning beside 'generate'")
          cas += generated(Located(value: Self.withoutSlashes(folder.value), place: folder.place), entry.path(\.generate))
        } else if let authority = authority(entry) {
          cas.append(authority)
        }
      }
    }
    if section.hasEmptyList(\.ca) { error(section.valuePlace(\.ca), "\(section.path(\.ca).shown) is empty: nobody could sign") }
    let isWhole = source == .files && !cas.isEmpty && written?.isWhole == true && cas.count == written?.items.count
    return InterceptDraft(
      settings: InterceptSettings(source: source, authorities: SigningCAs(cas)), knowsSigners: isWhole)
  }

  private func authority(_ entry: Section<AuthorityKeys>) -> SigningCA? {
    let file = entry.read(\.certificate)
    let allowsUnconstrained = entry.read(\.allowUnconstrained)
    // They may be what is about to be made.
    guard readsAuthorities else { return nil }
    let key = privateKey(entry, \.key, passphrase: \.passphrase)
    guard !entry.has(\.generate), !entry.isMisspelt(\.generate) else { return nil }
    entry.require(\.certificate)
    entry.require(\.key)
    if key != nil { checkKeyFile(entry.path(\.key), entry.valuePlace(\.key)) }
    guard let file, let found = certificates(file, entry.path(\.certificate), tellsDates: false), let key else { return nil }
    return authority(
      found, key, file, entry.path(\.certificate), keyPath: entry.path(\.key), allowsUnconstrained: allowsUnconstrained)
  }

  private func authority(
    _ der: [[UInt8]], _ key: KeyDraft, _ file: Located<String>, _ path: KeyPath, keyPath: KeyPath, allowsUnconstrained: Bool
  ) -> SigningCA? {
    let chain = der.compactMap { try? Certificate(der: $0) }
    do throws(SigningCAError) {
      let authority = try SigningCA(chain: chain, key: key.key, allowsUnconstrained: allowsUnconstrained, now: now)
      for certificate in chain { tellDates(certificate, file, path) }
      if authority.isConstrainedByRootAlone {
        warning(file.place, "\(path.shown): \(file.value) has name constraints on its root alone, which Java ignores")
      }
      return authority
    } catch {
      switch error {
      case .foreignKey:
        self.error(key.place, "\(keyPath.shown) does not belong to the first certificate of \(file.value)")
      case .unconstrained:
        self.error(file.place, "\(path.shown): \(file.value) \(error); say 'allow_unconstrained: true' if it may")
      case .expired(let subject, let end):
        self.error(file.place, "\(path.shown): \(file.value): \(subject) expired on \(UTCDate.text(end))")
      case .noCertificate, .notAuthority, .mayNotSign, .notForServers, .notYetValid, .weakSignature, .unreadableConstraints,
        .weakKey, .unknownKey, .notIssued, .notSelfSigned, .pathTooLong:
        self.error(file.place, "\(path.shown): \(file.value): \(error)")
      }
      return nil
    }
  }

  /// The authorities that a folder holds by now; the number that the next one would have is watched, too. One that has expired is
  /// left out, and replaced by the proxy; one of which a file is missing, too.
  private func generated(_ folder: Located<String>, _ path: KeyPath) -> [SigningCA] {
    guard readsAuthorities else { return [] }
    let content: FolderContent
    do throws(FileError) { content = try system.readFolder(folder.value) } catch {
      if error.code != 0 && error.code != ENOENT { self.error(folder.place, "\(path.shown): \(folder.value): \(error)") }
      content = FolderContent()
    }
    if content.isWritableByOthers {
      warning(folder.place, "\(path.shown): others may write \(folder.value), and so put a CA there for hosts of their choice")
    }
    let all = AuthorityFiles.all(among: content.names)
    let found = all.compactMap { generated($0, content, folder, path) }
    if let next = AuthorityFiles.next(after: all) { _ = file("\(folder.value)/\(next.certificates)") }
    return found
  }

  private func generated(
    _ files: AuthorityFiles, _ content: FolderContent, _ folder: Located<String>, _ path: KeyPath
  ) -> SigningCA? {
    let certificates = Located(value: "\(folder.value)/\(files.certificates)", place: folder.place)
    let keyFile = "\(folder.value)/\(files.key)"
    guard content.names.contains(files.certificates) else {
      // Watched, as it may come.
      _ = file(certificates.value)
      let rest = [files.key, files.root].filter(content.names.contains)
      warning(
        folder.place,
        "\(path.shown): \(certificates.value) is missing, so its CA signs nothing: put it back, or remove "
          + listed(rest, "and"))
      return nil
    }
    guard !isForeign(files.certificates, folder, path), let der = self.certificates(certificates, path, tellsDates: false)
    else { return nil }
    let ends = der.compactMap { try? Certificate(der: $0).notAfter }
    if let end = ends.min(), end <= now {
      warning(folder.place, "\(path.shown): \(certificates.value) expired on \(UTCDate.text(end)) and signs nothing")
      return nil
    }
    guard !isForeign(files.key, folder, path) else { return nil }
    guard case .success(let content) = file(keyFile), let key = try? PrivateKey(pem: content.bytes) else {
      error(folder.place, "\(path.shown): \(keyFile), the key of \(files.certificates), cannot be read")
      return nil
    }
    secretSources["\(path.shown).\(files.key)"] = .file(keyFile)
    checkKeyFile(path, folder.place, keyFile)
    let draft = KeyDraft(pem: Secret(content.bytes), passphrase: nil, place: folder.place, key: key)
    return authority(der, draft, certificates, path, keyPath: path, allowsUnconstrained: false)
  }

  /// Reads a file in the folder: whose it is holds for the content that is used.
  private func isForeign(_ name: String, _ folder: Located<String>, _ path: KeyPath) -> Bool {
    guard case .success(let content) = file(name, in: folder.value), content.isForeign else { return false }
    error(
      folder.place,
      "\(path.shown): \(folder.value)/\(name) belongs to another user, and others may write the folder: nobody knows who made "
        + "this CA")
    return true
  }

  private func checkKeyFile(_ path: KeyPath, _ place: Place) {
    if case .file(let file)? = secretSources[path.shown] { checkKeyFile(path, place, file) }
  }

  /// Whoever reads a CA's key can be any host that the CA permits.
  private func checkKeyFile(_ path: KeyPath, _ place: Place, _ file: String) {
    guard case .success(let content) = self.file(file), content.permissions & 0o007 != 0 else { return }
    error(place, "\(path.shown): \(file) gives rights to others; chmod o-rwx it")
  }

  // MARK: What must fit

  private func checkSigners(_ matches: [MatchDraft], _ authorities: SigningCAs) {
    for draft in matches {
      let name = SignedName(host: draft.match.host, isWildcard: draft.match.isWildcard)
      guard authorities.signer(for: name, at: now) == nil else { continue }
      error(
        draft.place,
        "\(draft.path.shown): no CA of intercept.ca may sign for \(shown(name.text)): make one with "
          + "authproxy ca create --permit '\(name.text)' --out FOLDER, and add it to intercept.ca")
    }
  }

  /// The proxy makes no CA that `ca create` would refuse to make.
  private func checkBounds(_ matches: [MatchDraft]) {
    let exact = Set(matches.filter { !$0.match.isWildcard }.map(\.match.host))
    for draft in matches {
      let name = SignedName(host: draft.match.host, isWildcard: draft.match.isWildcard)
      guard name.isUnbounded(isExact: exact.contains(draft.match.host)) else { continue }
      error(
        draft.place,
        "\(draft.path.shown): no CA is made for \(shown(name.text)), a whole top-level domain; bring one of your own")
    }
  }

  /// Of two patterns that are equally specific nobody could say which one counts.
  private func checkTunnels(_ context: InterceptContext, _ matches: [MatchDraft]) {
    for (pattern, item) in context.connectAllow {
      guard let match = matches.first(where: { $0.match.pattern == pattern }) else { continue }
      error(
        item.text.place,
        "\(item.path.shown): \(shown(item.text.value)) is the https:// match at \(match.place): it cannot be a tunnel and intercepted"
      )
    }
  }

  /// What apps read is no place for a key.
  private func checkPublish(_ publish: Located<String>, _ section: Section<InterceptKeys>, _ settings: InterceptSettings) {
    let folder = Self.plain(publish.value) + "/"
    var keys: [(path: String, file: String)] = secretSources.compactMap { path, source in
      if case .file(let file) = source { (path, file) } else { nil }
    }.sorted { $0.path < $1.path }
    if case .generated(let own) = settings.source {
      keys.append(("intercept.ca.generate", "\(own)/\(AuthorityFiles(number: 1).key)"))
    }
    guard let key = keys.first(where: { Self.plain($0.file).hasPrefix(folder) }) else { return }
    error(
      publish.place,
      "\(section.path(\.publish).shown) is the folder of \(key.file), which \(key.path) names: apps could read it")
  }

  /// What apps are given replaces the roots that they have.
  func checkPublishedRoots(_ root: Section<RootKeys>, _ settings: Settings) {
    guard settings.intercept?.publish != nil, settings.systemRoots == nil, let section = root.read(\.intercept) else { return }
    let (place, path) = (section.valuePlace(\.publish), section.path(\.publish).shown)
    if let own = environment["SSL_CERT_FILE"], !own.isEmpty {
      error(
        place,
        "\(path): bundle.pem needs the system's roots, and \(own), which SSL_CERT_FILE names, cannot be "
          + "read or is empty")
    } else {
      warning(
        place,
        "\(path): there are no system roots on this machine, so bundle.pem and truststore.jks hold our own alone: apps can verify "
          + "nobody else with them (the package ca-certificates provides roots, SSL_CERT_FILE names others)")
    }
  }

  /// An absolute path without empty and dot segments, as far as that can be said without the file system.
  private static func plain(_ path: String) -> String {
    var segments: [Substring] = []
    for segment in path.split(separator: "/") where segment != "." {
      if segment == ".." { _ = segments.popLast() } else { segments.append(segment) }
    }
    return segments.map { "/" + $0 }.joined()
  }

  private static func withoutSlashes(_ path: String) -> String {
    var path = path
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
