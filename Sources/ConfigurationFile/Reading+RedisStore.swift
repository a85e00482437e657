import Credentials
import RedisProtocol
import Settings

/// Reads `token_store.redis`.
extension Reading {
  /// nil after an error.
  func redisStore(_ section: Section<RedisStoreKeys>, _ trust: TrustRules) -> RedisStoreSettings? {
    let address = section.read(\.address).map { ($0, redisAddress($0, section.path(\.address))) }
    let sentinel = section.read(\.sentinel).map { ($0, sentinels($0)) }
    let login = login(section, \.username, \.password)
    let prefix = redisPrefix(section)
    let database = section.read(\.database)
    let replicas = section.read(\.replicas)
    let timeout = section.read(\.timeout)
    let trustName = section.read(\.trust)
    let certificate = section.read(\.clientCertificate)
    let identity = certificate.flatMap(clientCertificate)
    let allowsPlaintext = section.read(\.allowPlaintext)
    guard section.countOfAlternatives == 1 else {
      let names = listed(RedisStoreKeys.alternativeNames.map { "'\($0)'" }, "and")
      if section.countOfAlternatives > 1 {
        error(section.place, "\(section.path.shown) must have one of \(names), not both")
      } else if !section.isMisspelt(RedisStoreKeys.alternatives) {
        error(section.place, "\(section.path.shown) needs one of \(names)")
      }
      return nil
    }
    guard let location = address?.1.map({ .server($0) }) ?? sentinel?.1 else { return nil }
    let place = address?.0.place ?? sentinel?.0.valuePlace(\.addresses) ?? section.place
    if location.isTLS {
      checkTrust(section, trustName, trust, place)
    } else {
      section.refuse([\.trust, \.clientCertificate], because: "is for rediss:// only")
      if !allowsPlaintext { checkPlaintext(location, place, section) }
    }
    if section.has(\.sentinel), replicas == 0 {
      warning(
        section.valuePlace(\.replicas),
        "\(section.path(\.replicas).shown): with 0, a fail-over can lose a claim, and a refresh token be used twice")
    }
    guard let login, let prefix, certificate == nil || identity != nil else { return nil }
    var store = RedisStoreSettings(location)
    store.login = login.value
    store.database = database
    store.prefix = prefix
    store.replicas = replicas ?? (section.has(\.sentinel) ? 1 : 0)
    store.timeout = timeout
    store.trust = trustName?.value
    store.clientCertificate = identity?.files
    store.allowsPlaintext = allowsPlaintext
    return store
  }

  // MARK: Addresses

  /// Errors never show the text, which may have a password.
  private func redisAddress(_ text: Located<String>, _ path: KeyPath, port: UInt16? = nil) -> RedisAddress? {
    do throws(HostError) {
      return try Self.redisAddress(text.value, port: port ?? RedisAddress.defaultPort, reading: self)
    } catch {
      self.error(text.place, "\(path.shown) \(error)")
      return nil
    }
  }

  private static func redisAddress(_ text: String, port: UInt16, reading: Reading) throws(HostError) -> RedisAddress {
    if text.hasPrefix("unix:") {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty, !path.utf8.contains(0) else { throw HostError("needs a path behind 'unix:'") }
      return .unix(path: reading.resolve(path))
    }
    guard let end = text.firstRange(of: "://"), ["redis", "rediss"].contains(text[..<end.lowerBound].lowercased()) else {
      throw HostError("must start with redis://, rediss:// or unix:")
    }
    let rest = text[end.upperBound...]
    guard !rest.contains("@") else {
      throw HostError("must not contain a user or password: 'username' and 'password' name them")
    }
    guard !rest.contains(where: { "/?#".contains($0) }) else {
      throw HostError("must end after host and port: 'database' names another one")
    }
    let (host, written) = try HostName.split(String(rest))
    if written == 0 { throw HostError("has port 0") }
    let name = try HostName.normalized(host)
    return text[..<end.lowerBound].lowercased() == "rediss"
      ? .tls(host: name, port: written ?? port) : .tcp(host: name, port: written ?? port)
  }

  private func sentinels(_ section: Section<SentinelKeys>) -> RedisLocation? {
    let name = section.read(\.name)
    let written = section.read(\.addresses)
    let login = login(section, \.username, \.password)
    var addresses: [RedisAddress] = []
    var isWhole = written?.isWhole ?? false
    for item in written?.items ?? [] {
      guard let address = redisAddress(item.text, item.path, port: RedisStoreSettings.sentinelPort) else {
        isWhole = false
        continue
      }
      if case .unix = address {
        error(item.text.place, "\(item.path.shown) must start with redis:// or rediss://: a Sentinel names servers by host")
        isWhole = false
      } else if let first = addresses.first, first.isTLS != address.isTLS {
        error(item.text.place, "\(item.path.shown) has another scheme than the first one, which is the server's as well")
        isWhole = false
      }
      addresses.append(address)
    }
    if let written, written.isWhole, written.items.isEmpty {
      error(written.place, "\(section.path(\.addresses).shown) is empty")
    }
    guard let name, let login, isWhole, !addresses.isEmpty else { return nil }
    return .sentinels(addresses, name: name.value, login: login.value)
  }

  private func checkPlaintext(_ location: RedisLocation, _ place: Place, _ section: Section<RedisStoreKeys>) {
    let addresses =
      switch location {
      case .server(let address): [address]
      case .sentinels(let all, _, _): all
      }
    for case .tcp(let host, _) in addresses {
      if host == "localhost" || IPAddress.parse(host).map(IPAddress.isLoopback) == true { continue }
      error(
        place,
        "\(section.path.shown): redis:// sends the password to another machine in the clear; use rediss://, or say "
          + "'allow_plaintext: true'")
      return
    }
  }

  private func checkTrust(
    _ section: Section<RedisStoreKeys>, _ name: Located<String>?, _ trust: TrustRules, _ place: Place
  ) {
    if let name, !trust.check(name, section.path(\.trust), self) { return }
    if name == nil, trust.allMustBeNamed, !section.has(\.trust) {
      error(place, "\(section.path.shown) names no 'trust', but all_hosts_must_be_evaluated is true")
    }
    if let gap = trust.gap(name?.value) {
      error(
        name?.place ?? place,
        "\(section.path.shown): trust \(shown(gap.name)) \(gap.what), so the password could go to anybody")
    }
  }

  // MARK: Users

  /// - Returns: nil after an error.
  private func login<Keys: KeySet>(
    _ section: Section<Keys>, _ user: (Keys) -> Key<Located<String>?>,
    _ password: (Keys) -> Key<Located<Secret>?>
  ) -> (value: RedisLogin?, Void)? {
    let name = section.read(user)
    let secret = section.read(password)
    if section.has(user), !section.require(password, because: "for '\(name?.value ?? "username")'") { return nil }
    guard section.has(password) else { return (nil, ()) }
    guard let secret, name != nil || !section.has(user) else { return nil }
    return (RedisLogin(user: name?.value ?? "default", password: secret.value.bytes), ())
  }

  private func redisPrefix(_ section: Section<RedisStoreKeys>) -> String? {
    guard let prefix = section.read(\.prefix) else {
      return section.has(\.prefix) ? nil : RedisStoreSettings.standardPrefix
    }
    guard prefix.value.utf8.count <= 100, prefix.value.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
      error(prefix.place, "\(section.path(\.prefix).shown) must have at most 100 characters, of visible ASCII")
      return nil
    }
    return prefix.value
  }
}
