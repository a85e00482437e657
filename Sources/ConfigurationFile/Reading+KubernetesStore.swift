import Credentials
import Settings
import Trust

/// Reads `token_store.kubernetes`. What it does not say, the pod's service account and environment do.
extension Reading {
  /// Where the API server is for those who are in no pod's environment.
  private static let standardServer = "https://kubernetes.default.svc:443"

  /// nil after an error.
  func kubernetesStore(_ section: Section<KubernetesStoreKeys>, _ trust: TrustRules) -> KubernetesStoreSettings? {
    let secret = section.read(\.secret).flatMap { objectName($0, section.path(\.secret)) }
    let namespace = namespace(section)
    let address = apiServer(section)
    let token = section.read(\.token)
    let trustName = section.read(\.trust)
    guard let secret, let namespace, let address, token != nil || !section.has(\.token) else { return nil }
    guard let policy = policy(section, trustName, trust, isHTTPS: address.hasPrefix("https:")) else { return nil }
    return KubernetesStoreSettings(
      secret: secret, namespace: namespace, address: address,
      token: token?.value ?? .file("\(KubernetesStoreSettings.folder)/token"), trust: policy)
  }

  private func objectName(_ name: Located<String>, _ path: KeyPath) -> String? {
    // RFC 1123 labels, as Kubernetes wants them.
    let labels = name.value.split(separator: ".", omittingEmptySubsequences: false)
    let isGood =
      name.value.utf8.count <= 253
      && labels.allSatisfy { label in
        !label.isEmpty && label.first != "-" && label.last != "-"
          && label.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7a).contains($0) || $0 == 0x2d }
      }
    if isGood { return name.value }
    error(
      name.place, "\(path.shown) must be the name of an object: lower-case letters, digits, - and ., not \(shown(name.value))")
    return nil
  }

  private func namespace(_ section: Section<KubernetesStoreKeys>) -> String? {
    if let written = section.read(\.namespace) { return objectName(written, section.path(\.namespace)) }
    if section.has(\.namespace) { return nil }
    if case .success(let content) = file("\(KubernetesStoreSettings.folder)/namespace"),
      let text = try? SecretSource.trimmed(content.bytes)
    {
      let place = section.keyPlace(\.namespace)
      return objectName(Located(value: String(decoding: text.bytes, as: UTF8.self), place: place), section.path(\.namespace))
    }
    warning(
      section.place,
      "\(section.path.shown) has no 'namespace', and this process has no service account that says it: 'default' is used")
    return "default"
  }

  /// `https://host:port`; nil after an error.
  private func apiServer(_ section: Section<KubernetesStoreKeys>) -> String? {
    guard let text = section.read(\.address) else { return section.has(\.address) ? nil : serverOfEnvironment(section) }
    do throws(HostError) {
      let url = try URLText(parsing: text.value)
      guard url.target.isEmpty || url.target == "/" else { throw HostError("must end after host and port") }
      guard url.isHTTPS || url.isLoopback else {
        throw HostError("must be https unless it is on loopback: the proxy sends its token there")
      }
      let host = url.host.contains(":") ? "[\(url.host)]" : url.host
      return "\(url.isHTTPS ? "https" : "http")://\(host):\(url.port)"
    } catch {
      self.error(text.place, "\(section.path(\.address).shown) \(error)")
      return nil
    }
  }

  private func serverOfEnvironment(_ section: Section<KubernetesStoreKeys>) -> String {
    if let host = environment["KUBERNETES_SERVICE_HOST"],
      let known = try? HostName.normalized(host.contains(":") ? "[\(host)]" : host)
    {
      let port = environment["KUBERNETES_SERVICE_PORT"].flatMap { UInt16($0) } ?? 443
      return "https://\(known.contains(":") ? "[\(known)]" : known):\(port)"
    }
    warning(
      section.place,
      "\(section.path.shown) has no 'address', and KUBERNETES_SERVICE_HOST does not say it: \(Self.standardServer) is used")
    return Self.standardServer
  }

  private func policy(
    _ section: Section<KubernetesStoreKeys>, _ name: Located<String>?, _ trust: TrustRules, isHTTPS: Bool
  ) -> KubernetesStoreSettings.Trust? {
    let path = section.path(\.trust)
    if let name {
      guard trust.check(name, path, self) else { return nil }
      if !isHTTPS { error(name.place, "\(path.shown) has no effect: the API server is http://") }
      if let gap = trust.gap(name.value) {
        error(name.place, "\(section.path.shown): trust \(shown(gap.name)) \(gap.what), so the token could go to anybody")
      }
      return .named(name.value)
    }
    if section.has(\.trust) { return nil }
    let authority = "\(KubernetesStoreSettings.folder)/ca.crt"
    if isHTTPS, case .success = file(authority) {
      let found = certificates(Located(value: authority, place: section.place), path, tellsDates: false)
      return found.map {
        .serviceAccount(
          TrustPolicy(name: "service account", anchors: .only($0), evaluators: [.chain(TrustPolicy.Validation())]))
      }
    }
    if isHTTPS, trust.allMustBeNamed {
      error(section.place, "\(section.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    return .named(nil)
  }
}
