import Crypto
import Files
import Settings
import TLS
import Trust

extension Reading {
  /// The policies of the file by name; nil for a policy with an error.
  typealias TrustPolicies = [String: TrustPolicy?]

  func trust(_ root: Section<RootKeys>) -> TrustPolicies {
    var policies: TrustPolicies = [:]
    for entry in root.read(\.trust) ?? [] {
      _ = checkName(entry.name, entry.path)
      policies[entry.name.value] = .some(entry.value.flatMap { trustPolicy(entry.name.value, $0, entry.path) })
    }
    return policies
  }

  /// The same, but reads only some of them: a credential that is read alone needs no other.
  func trust(_ root: Section<RootKeys>, only names: Set<String>) -> TrustPolicies {
    var policies: TrustPolicies = [:]
    for entry in root.written(\.trust).flatMap(named) ?? [] {
      let name = entry.name.value
      let form = Form.list(of: .section(EvaluatorKeys.self))
      let items = names.contains(name) ? form.read(self, entry.value) : nil
      policies[name] = .some(items.flatMap { trustPolicy(name, $0, entry.value.path) })
    }
    return policies
  }

  /// The system's roots, if the configuration needs them: for a policy, or, without a policy `default`, for an upstream, an
  /// unlisted host, a token endpoint or a responder. Watches every possible bundle file up to the one in use, as an earlier one
  /// that appears would replace it.
  func systemRoots(for settings: Settings) -> SystemRoots? {
    let usesFallback =
      settings.unlistedHosts == .forward || settings.upstreams.contains { $0.trust == nil }
      || settings.parents.contains { $0.scheme == .https && $0.trust == nil }
      || settings.trust.values.contains(where: \.checksRevocation)
      || settings.credentials.values.contains { $0.tokens.map { $0.trust == nil } ?? false }
      || settings.tokenStore.shared?.trust.isStandard == true
    let areAnchors = settings.trust.values.contains { $0.effectiveAnchors.haveSystem }
    // Apps are given them beside our own.
    let arePublished = settings.intercept?.publish != nil
    guard areAnchors || arePublished || (usesFallback && settings.trust["default"] == nil) else { return nil }
    if environment["SSL_CERT_DIR"]?.isEmpty == false, environment["SSL_CERT_FILE"]?.isEmpty != false {
      warning(
        nil,
        "the proxy does not read SSL_CERT_DIR: give the roots in one file, as SSL_CERT_FILE or as the 'ca_file' of a trust policy"
      )
    }
    return SystemRoots.read(environment) { path in
      let result: Result<FileContent, FileError>
      do throws(FileError) { result = .success(try system.readFile(path, WatchedFile.sizeLimit)) } catch {
        result = .failure(error)
      }
      systemRootsFiles.append(WatchedFile(path, result))
      return try? result.get().bytes
    }
  }

  /// What applies to the whole policy, collected while its evaluators are read.
  private struct Draft {
    var anchors: TrustPolicy.Anchors?
    var minimumVersion = TrustPolicy.TLSVersion.tls12
    /// Place of the one `default`.
    var chain: Place?
    var systemRootsOff: Place?
    /// Evaluators that need another evaluator to validate the chain, each with its error.
    var dependent: [(place: Place, message: String)] = []
    var selfSigned: [Place] = []
    var disabled: [Place] = []
    var ok = true
  }

  private func trustPolicy(_ name: String, _ items: Listed<Section<EvaluatorKeys>>, _ path: KeyPath) -> TrustPolicy? {
    var draft = Draft()
    guard let evaluators = evaluators(items, path, &draft) else { return nil }
    if let disabled = draft.disabled.first {
      guard evaluators == [.disabled] else {
        error(disabled, "\(path.shown): 'disabled' must be the only evaluator of a policy")
        return nil
      }
      warning(disabled, "\(path.shown) is disabled: it trusts every server")
    }
    let policy = TrustPolicy(
      name: name, anchors: draft.anchors ?? .system, minimumVersion: draft.minimumVersion, evaluators: evaluators)
    if !policy.validatesChain {
      for dependent in draft.dependent { error(dependent.place, dependent.message) }
    }
    if let off = draft.systemRootsOff, draft.selfSigned.isEmpty {
      error(off, "\(path.shown): the policy trusts no root: 'system_roots' is false and there is no 'ca_file'")
    }
    if let place = draft.selfSigned.first {
      if draft.anchors != nil {
        error(
          place,
          "\(path.shown): 'accept_self_signed' makes the pinned certificates the only anchors; 'ca_file' and "
            + "'system_roots' would add others"
        )
      }
      if draft.selfSigned.count > 1 {
        error(draft.selfSigned[1], "\(path.shown): 'accept_self_signed' is set twice; a policy has one set of anchors")
      }
    }
    return draft.ok ? policy : nil
  }

  private func evaluators(
    _ items: Listed<Section<EvaluatorKeys>>, _ path: KeyPath, _ draft: inout Draft
  ) -> [TrustPolicy.Evaluator]? {
    if !items.isWhole { draft.ok = false }
    if items.items.isEmpty && items.isWhole {
      error(items.place, "\(path.shown) is empty: it would check nothing")
      return nil
    }
    var evaluators: [TrustPolicy.Evaluator] = []
    for item in items.items {
      if let evaluator = evaluator(item, &draft) {
        evaluators.append(evaluator)
      } else {
        draft.ok = false
      }
    }
    return evaluators
  }

  private func evaluator(_ item: Section<EvaluatorKeys>, _ draft: inout Draft) -> TrustPolicy.Evaluator? {
    let chain = item.read(\.chain)
    let keys = item.read(\.pinnedPublicKeys)
    let certificates = item.read(\.pinnedCertificates)
    let revocation = item.read(\.revocation)
    let composite = item.read(\.composite)
    let disabled = item.read(\.disabled)
    guard item.countOfAlternatives == 1 else {
      if item.countOfAlternatives > 1 || item.isEmpty {
        let kinds = EvaluatorKeys.alternativeNames.joined(separator: ", ")
        error(item.place, "\(item.path.shown) must have one evaluator: \(kinds)")
      }
      return nil
    }
    if let chain { return self.chain(chain, &draft) }
    if let keys { return pinnedKeys(keys, &draft) }
    if let certificates { return pinnedCertificates(certificates, &draft) }
    if let revocation { return self.revocation(revocation, &draft) }
    if let composite { return evaluators(composite, item.path(\.composite), &draft).map { .composite($0) } }
    guard let disabled else { return nil }
    draft.disabled.append(disabled.place)
    return .disabled
  }

  private func chain(_ section: Section<ChainKeys>, _ draft: inout Draft) -> TrustPolicy.Evaluator {
    if let first = draft.chain {
      error(section.place, "\(section.path.shown): a policy has at most one 'default'; the first is at \(first)")
    }
    draft.chain = section.place
    let file = section.read(\.caFile)
    let systemRoots = section.read(\.systemRoots) ?? !section.has(\.caFile)
    let host = section.read(\.host)
    draft.minimumVersion = section.read(\.minVersion)
    if let file {
      if let found = certificates(file, section.path(\.caFile)) {
        draft.anchors = systemRoots ? .systemAnd(found) : .only(found)
      } else {
        draft.ok = false
      }
    } else if section.has(\.systemRoots) {
      if systemRoots {
        draft.anchors = .system
      } else if !section.has(\.caFile) {
        draft.systemRootsOff = section.valuePlace(\.systemRoots)
      }
    }
    return .chain(TrustPolicy.Validation(chain: true, host: host))
  }

  private func validation<Keys: KeySet>(
    _ section: Section<Keys>, _ group: (Keys) -> ValidationKeys
  ) -> TrustPolicy.Validation {
    TrustPolicy.Validation(
      chain: section.read { group($0).chain }, host: section.read { group($0).host })
  }

  /// Certificates from a list of files; nil if one of them has an error.
  private func certificates<Keys: KeySet>(
    _ section: Section<Keys>, _ key: (Keys) -> Key<[TextItem]?>
  ) -> [[UInt8]]? {
    guard let files = section.read(key) else { return section.has(key) ? nil : [] }
    var found: [[UInt8]] = []
    for file in files {
      guard let some = certificates(Located(value: resolve(file.text.value), place: file.text.place), file.path) else {
        return nil
      }
      found += some
    }
    return found
  }

  private func pinnedKeys(_ section: Section<PinnedKeyKeys>, _ draft: inout Draft) -> TrustPolicy.Evaluator? {
    var pins: Set<[UInt8]> = []
    var ok = true
    for item in section.read(\.pins) ?? [] {
      if let pin = pin(item.text, item.path) {
        if !pins.insert(pin).inserted { warning(item.text.place, "\(item.path.shown) is already in this list") }
      } else {
        ok = false
      }
    }
    if let found = certificates(section, \.certificates) {
      for der in found {
        if let certificate = try? Certificate(der: der) { pins.insert(certificate.publicKeyDigest) }
      }
    } else {
      ok = false
    }
    let expires = section.read(\.expires)
    let enforce = section.read(\.enforce)
    let validation = validation(section, \.validation)
    let expiry = expires.flatMap { self.expiry($0, section) }
    if expires != nil && expiry == nil { ok = false }
    guard ok else { return nil }
    if pins.isEmpty {
      if section.isMisspelt([\.pins, \.certificates]) { return nil }
      error(section.place, "\(section.path.shown) has no pin: give 'pins', 'certificates' or both")
      return nil
    }
    if pins.count == 1 {
      warning(
        section.place, "\(section.path.shown) has only one pin; add a backup pin, or every request fails when the key is lost")
    }
    // AFSecurityPolicy refuses this combination, too: no authority confirms the name in such a certificate.
    if !validation.chain && !enforce {
      draft.dependent.append(
        (
          section.place,
          "\(section.path.shown) with 'validate_chain: false' and 'enforce: false' proves nothing; another "
            + "evaluator must validate the chain"
        ))
    } else if !validation.chain && expiry != nil {
      draft.dependent.append(
        (
          section.place,
          "\(section.path.shown) with 'validate_chain: false' would prove nothing once 'expires' has passed; "
            + "another evaluator must validate the chain"
        ))
    }
    return .pinnedPublicKeys(
      TrustPolicy.PinnedPublicKeys(pins: pins, expires: expiry, enforce: enforce, validation: validation))
  }

  private func expiry(_ text: Located<String>, _ section: Section<PinnedKeyKeys>) -> Int64? {
    let path = section.path(\.expires).shown
    guard let expiry = UTCDate.parse(text.value) else {
      error(
        text.place, "\(path) must be a day such as 2027-06-01, or a time such as 2027-06-01T12:00:00Z, not \(shown(text.value))"
      )
      return nil
    }
    if expiry <= now { warning(text.place, "\(path) has passed: these pins are no longer enforced") }
    return expiry
  }

  func pin(_ text: Located<String>, _ path: KeyPath) -> [UInt8]? {
    if text.value.lowercased().hasPrefix("sha1/") {
      error(text.place, "\(path.shown): SHA-1 pins are not accepted; use sha256/")
      return nil
    }
    guard text.value.hasPrefix("sha256/") else {
      error(text.place, "\(path.shown) must start with sha256/")
      return nil
    }
    guard let pin = Base64.decode(text.value.utf8.dropFirst(7)) else {
      error(text.place, "\(path.shown) must be sha256/ and base64")
      return nil
    }
    guard pin.count == 32 else {
      error(text.place, "\(path.shown) has \(pin.count) bytes; a SHA-256 has 32")
      return nil
    }
    return pin
  }

  private func pinnedCertificates(_ section: Section<PinnedCertificateKeys>, _ draft: inout Draft) -> TrustPolicy.Evaluator? {
    let found = certificates(section, \.certificates)
    let selfSigned = section.read(\.acceptSelfSigned)
    let validation = validation(section, \.validation)
    if selfSigned {
      draft.selfSigned.append(section.valuePlace(\.acceptSelfSigned))
      if !validation.chain {
        error(
          section.valuePlace(\.validation.chain),
          "\(section.path.shown): 'accept_self_signed' needs chain validation, which 'validate_chain: false' switches off")
      }
    }
    guard let found, section.has(\.certificates) else { return nil }
    if found.isEmpty {
      error(section.place, "\(section.path.shown) has no pin: give 'certificates'")
      return nil
    }
    if Set(found).count == 1 {
      warning(
        section.place,
        "\(section.path.shown) has only one pin; add a backup pin, or every request fails when the certificate is renewed")
    }
    return .pinnedCertificates(
      TrustPolicy.PinnedCertificates(certificates: found, acceptSelfSigned: selfSigned, validation: validation))
  }

  private func revocation(_ section: Section<RevocationKeys>, _ draft: inout Draft) -> TrustPolicy.Evaluator? {
    var ok = true
    var revocation = TrustPolicy.Revocation()
    if let methods = section.read(\.methods) {
      revocation.methods = []
      for item in methods {
        guard let method = TrustPolicy.Revocation.Method(rawValue: item.text.value) else {
          error(item.text.place, "\(item.path.shown) \(notAmong(item.text.value, RevocationKeys.allMethods))")
          ok = false
          continue
        }
        if revocation.methods.contains(method) {
          error(item.text.place, "\(item.path.shown) is already in this list")
        } else {
          revocation.methods.append(method)
        }
      }
      if section.hasEmptyList(\.methods) {
        error(section.valuePlace(\.methods), "\(section.path(\.methods).shown) is empty: give ocsp, crl or both")
      }
    } else if section.has(\.methods) {
      ok = false
    }
    let responder = section.read(\.responder)
    let files = section.read(\.crlFiles)
    revocation.network = section.read(\.network)
    revocation.timeout = section.read(\.timeout)
    revocation.requirePositiveResponse = section.read(\.requirePositiveResponse)
    revocation.scope = section.read(\.check)
    revocation.validation = validation(section, \.validation)
    for file in files ?? [] {
      let found = revocationLists(Located(value: resolve(file.text.value), place: file.text.place), file.path)
      if let found { revocation.lists += found } else { ok = false }
    }
    if let responder {
      ok = self.responder(responder, section, &revocation) && ok
    }
    if ok, files?.isEmpty == false, !revocation.methods.contains(.crl) {
      error(section.keyPlace(\.crlFiles), "\(section.path(\.crlFiles).shown) contradicts 'methods', which does not list crl")
    }
    if !revocation.validation.chain {
      draft.dependent.append(
        (
          section.valuePlace(\.validation.chain),
          "\(section.path.shown): 'validate_chain: false' needs another evaluator of the policy that validates the chain"
        ))
    }
    return ok ? .revocation(revocation) : nil
  }

  private func responder(
    _ text: Located<String>, _ section: Section<RevocationKeys>, _ revocation: inout TrustPolicy.Revocation
  ) -> Bool {
    let path = section.path(\.responder).shown
    do throws(HostError) { _ = try URLText(parsing: text.value) } catch {
      self.error(text.place, "\(path) \(error)")
      return false
    }
    revocation.responder = text.value
    if !revocation.methods.contains(.ocsp) { error(text.place, "\(path) contradicts 'methods', which does not list ocsp") }
    if !revocation.network { error(text.place, "\(path) contradicts 'network: false'") }
    return true
  }
}
