import Credentials
import Crypto
import Settings

/// Reads `token_store`.
extension Reading {
  /// nil after an error.
  func tokenStore(_ root: Section<RootKeys>, trust: TrustRules) -> TokenStoreSettings? {
    switch root.read(\.tokenStore) {
    case nil: return root.has(\.tokenStore) ? nil : .memory
    case .text(let text, let path)?:
      if text.value == TokenStoreKeys.memory { return .memory }
      error(
        text.place, "\(path.shown) must be memory, {file: ...}, {redis: ...} or {kubernetes: ...}, not \(shown(text.value))")
      return nil
    case .section(let section)?: return tokenStore(section, trust)
    }
  }

  private func tokenStore(_ section: Section<TokenStoreKeys>, _ trust: TrustRules) -> TokenStoreSettings? {
    let file = section.read(\.file)
    let redis = section.read(\.redis).map { (store: redisStore($0, trust), section: $0) }
    let kubernetes = section.read(\.kubernetes).map { (store: kubernetesStore($0, trust), section: $0) }
    let key = storeKey(section)
    let previous = previousKeys(section, key)
    guard section.countOfAlternatives == 1 else {
      let stores = TokenStoreKeys.alternativeNames.map { "'\($0)'" }
      if section.countOfAlternatives > 1 {
        error(section.place, "\(section.path.shown) must have one of \(listed(stores, "and")), not several")
      } else if !section.isMisspelt(TokenStoreKeys.alternatives) {
        error(section.place, "\(section.path.shown) needs one of \(listed(stores, "and"))")
      }
      return nil
    }
    if section.has(\.file) {
      section.refuse([\.previousKeys], because: "is for redis and kubernetes only")
      if case .open? = key { refuseNone(section) }
      return file.map { .file(path: $0.value, key: key?.secret) }
    }
    section.require(\.key, because: "for a store that a fleet shares (openssl rand -base64 32)")
    if section.has(\.redis), case .open? = key { refuseNone(section) }
    guard let key, let previous else { return nil }
    let seal: RecordSeal
    switch key {
    case .open: seal = .withoutKey
    case .key(let secret):
      guard let made = try? RecordSeal(key: secret, previous: previous) else { return nil }
      seal = made
    }
    if let redis = redis?.store { return .shared(SharedStoreSettings(.redis(redis), seal: seal)) }
    if let kubernetes = kubernetes?.store { return .shared(SharedStoreSettings(.kubernetes(kubernetes), seal: seal)) }
    return nil
  }

  // MARK: Keys

  private enum DecodedKey {
    case open
    case key(Secret)

    var secret: Secret? { if case .key(let secret) = self { secret } else { nil } }
  }

  /// nil: there is none, or it has an error.
  private func storeKey(_ section: Section<TokenStoreKeys>) -> DecodedKey? {
    switch section.read(\.key) {
    case nil: nil
    case .none?: .open
    case .secret(let key)?: decoded(key, section.path(\.key)).map { .key($0) }
    }
  }

  private func decoded(_ key: Located<Secret>, _ path: KeyPath) -> Secret? {
    if let bytes = Base64.decode(key.value.bytes), bytes.count == AESGCM.keySize { return Secret(bytes) }
    error(key.place, "\(path.shown) must be 32 bytes in base64 (openssl rand -base64 32)")
    return nil
  }

  private func refuseNone(_ section: Section<TokenStoreKeys>) {
    error(section.valuePlace(\.key), "\(section.path(\.key).shown) can be none for kubernetes only")
  }

  /// nil after an error.
  private func previousKeys(_ section: Section<TokenStoreKeys>, _ key: DecodedKey?) -> [Secret]? {
    guard let written = section.read(\.previousKeys) else { return section.has(\.previousKeys) ? nil : [] }
    let path = section.path(\.previousKeys)
    if case .open? = key { section.refuse([\.previousKeys], because: "needs a 'key' other than none") }
    var keys: [Secret] = []
    var isWhole = written.isWhole
    for (index, item) in written.items.enumerated() {
      guard let decoded = decoded(item, path.index(index)) else {
        isWhole = false
        continue
      }
      if decoded == key?.secret {
        error(item.place, "\(path.index(index).shown) is the 'key' itself: nothing would be written with another one")
        isWhole = false
      } else if keys.contains(decoded) {
        error(item.place, "\(path.index(index).shown) is there twice")
        isWhole = false
      } else {
        keys.append(decoded)
      }
    }
    return isWhole ? keys : nil
  }

  // MARK: Credentials

  /// What `shared` says. Each of the credential's keys is right by itself.
  /// - Parameter tokenStore: nil if it has an error.
  func checkShared(_ grant: OAuth2Keys.Grant, _ section: Section<OAuth2Keys>, tokenStore: TokenStoreSettings?) {
    guard let isShared = section.read(\.shared), let tokenStore else { return }
    if tokenStore.shared == nil {
      error(
        section.keyPlace(\.shared),
        "\(section.path(\.shared).shown) needs a 'token_store' that a fleet shares: redis or kubernetes")
    } else if !isShared, grant.isStored {
      error(
        section.valuePlace(\.shared),
        "\(section.path(\.shared).shown) cannot be false with grant \(grant.rawValue): two processes would spend one refresh token"
      )
    }
  }

  /// Of `OAuth2Policy.sharing`.
  func sharing(
    of policy: OAuth2Policy, _ section: Section<OAuth2Keys>, tokenStore: TokenStoreSettings?
  ) -> [UInt8]? {
    guard let store = tokenStore?.shared else { return nil }
    let wanted = section.read(\.shared)
    guard wanted != false else { return nil }
    if let binding = TokenBinding.shared(of: policy, for: store.seal) { return binding }
    if let unnamed = unnamedAssertion(of: policy) {
      warning(
        section.valuePlace(unnamed),
        "\(section.path(unnamed).shown) has no readable 'iss' and 'sub', which would say whose tokens these are: each process has "
          + "its own, and 'token_store' is not used")
    } else if wanted == true {
      error(
        section.valuePlace(\.shared),
        "\(section.path(\.shared).shown) cannot be true: it exchanges tokens of an app's user, or of another credential")
    }
    return nil
  }

  /// The key of an assertion that does not say who asks.
  private func unnamedAssertion(of policy: OAuth2Policy) -> ((OAuth2Keys) -> DescribedKey)? {
    if case .clientAssertion(let assertion) = policy.clientAuthentication, !TokenBinding.isNamed(assertion) {
      return \.clientAssertion
    }
    if case .jwtBearer(.ready(let assertion)) = policy.grant, !TokenBinding.isNamed(assertion) { return \.assertion }
    if case .secret(let token)? = policy.exchange?.subject.source, !TokenBinding.isNamed(token) {
      return \.exchange.subjectToken
    }
    if case .secret(let token)? = policy.exchange?.actor?.source, !TokenBinding.isNamed(token) { return \.exchange.actorToken }
    return nil
  }

  /// Whether a store can name the credential's record. Reports it if not.
  func checkRecordName(_ name: String, _ entry: Section<CredentialKeys>, tokenStore: TokenStoreSettings?) {
    guard case .kubernetes? = tokenStore?.shared?.engine else { return }
    let isGood = name.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
      default: "-_.".utf8.contains(byte)
      }
    }
    guard !isGood else { return }
    error(
      entry.place,
      "\(entry.path.shown) has a name with characters that an entry of a Secret cannot have: letters, digits and -_.")
  }
}
