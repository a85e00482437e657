import Cache
import Credentials
import Crypto
import Routing
import Settings
import TLS
import Testing
import Trust

@testable import ConfigurationFile

@Suite("The whole language")
struct WholeLanguageTests {
  private func load() throws -> (Settings, LoadedConfiguration) {
    let loaded = World.read(wholeLanguage)
    #expect(loaded.errorLines == [])
    return (try #require(loaded.settings), loaded)
  }

  private func secret(_ text: String) -> Secret { Secret(Array(text.utf8)) }

  @Test("read twice it is the same: a reload of what did not change changes nothing")
  func same() throws { #expect(try load().0 == load().0) }

  @Test("listeners, admin, clients and tunnels have the right settings")
  func access() throws {
    let (settings, _) = try load()
    #expect(
      settings.listeners == [
        ListenerSettings(endpoint: .tcp(host: "127.0.0.1", port: 3128), clientsRequired: true),
        ListenerSettings(
          endpoint: .unix(path: "/run/authproxy/proxy.sock", mode: 0o660, owner: "root", group: "app"), clientsRequired: true),
        ListenerSettings(endpoint: .tcp(host: "0.0.0.0", port: 3128), clientsRequired: true),
        ListenerSettings(
          endpoint: .inherited(descriptor: 3), clientsRequired: true,
          proxyProtocol: ProxyProtocolPeers(
            ranges: [
              AddressRange(network: IPAddress.mapped([10, 0, 0, 0]), prefixLength: 104),
              AddressRange(network: [0xfd] + [UInt8](repeating: 0, count: 14) + [7], prefixLength: 128),
            ], includesUnix: true)),
        ListenerSettings(
          endpoint: .tcp(host: "0.0.0.0", port: 3129), clientsRequired: true,
          tls: ListenerTLS(
            identity: .files(
              CertificateFiles(
                certificates: Array((PEMSamples.certificate + "\n").utf8), key: secret(PEMSamples.encryptedKey),
                passphrase: secret("s3cr3t"))),
            clientCertificates: ListenerTLS.ClientCertificates(
              anchors: [try #require(PEM.blocks(Array(PEMSamples.next.utf8)).first).der], isRequired: true),
            minimumVersion: .tls13)),
        ListenerSettings(
          endpoint: .tcp(host: "127.0.0.1", port: 3130), clientsRequired: true,
          tls: ListenerTLS(identity: .leaf(names: ["proxy.example.com", "192.0.2.7"]))),
      ])
    #expect(
      settings.admin
        == AdminSettings(
          endpoint: .tcp(host: "127.0.0.1", port: 9128), expose: [.healthz, .readyz, .metrics, .dashboard, .status],
          hosts: [.init(name: "ops.internal", port: 9128), .init(name: "status.internal")]))
    let internalHosts = HostPattern(host: "internal.example.com", isWildcard: true, port: nil)
    #expect(
      settings.clients == [
        ClientSettings(
          name: "billing", password: secret("s3cr3t"), allow: .only(upstreams: ["payments"], hosts: [internalHosts]),
          maxRequests: 64),
        ClientSettings(
          name: "legacy-java",
          from: [
            AddressRange(network: IPAddress.mapped([10, 2, 0, 0]), prefixLength: 112),
            AddressRange(network: [0xfd] + [UInt8](repeating: 0, count: 15), prefixLength: 8),
          ]),
        ClientSettings(name: "by-uri", certificate: .uri("spiffe://example.com/billing")),
        ClientSettings(name: "by-dns", password: secret("s3cr3t"), certificate: .dns("billing.internal")),
        ClientSettings(name: "by-pin", certificate: .pin([UInt8](repeating: 0, count: 32))),
      ])
    #expect(settings.anonymous == .only(upstreams: [], hosts: []))
    #expect(settings.anonymousMaxRequests == 16)
    #expect(settings.unlistedHosts == .forward)
    #expect(settings.connectAllow == [HostPattern(host: "example.com", isWildcard: true, port: 443)])
    #expect(settings.forbiddenAddresses.count == AddressRange.defaults.count + 1)
    #expect(settings.limits == Limits())
    #expect(settings.timeouts == Timeouts())
    #expect(settings.log == LogSettings())
  }

  @Test("upstreams have the right settings")
  func upstreams() throws {
    let (settings, _) = try load()
    let payments = settings.upstreams[0]
    #expect(payments.name == "payments")
    #expect(payments.match == UpstreamSettings.Match(host: "api.example.com", pathPrefix: "/v1"))
    #expect(payments.clients == ["billing"])
    #expect(payments.methods == AllowedMethods(["GET", "HEAD", "PROPFIND"]))
    #expect(payments.origin == UpstreamSettings.Origin(scheme: .https, host: "api.example.com", port: 443, path: "/api/v2"))
    #expect(payments.originIsExplicit && !payments.stripsPrefix)
    #expect(settings.upstreams.first { $0.name == "key.example.com/v1" }?.stripsPrefix == true)
    #expect(
      payments.redirects
        == RedirectSettings(
          follow: 5, methods: AllowedMethods(["GET", "HEAD", "POST"]),
          hosts: [
            HostPattern(host: "s3.example.com", isWildcard: true, port: 443),
            HostPattern(host: "cdn.example.com", isWildcard: false, port: 8443),
            HostPattern(host: "2001:db8::2", isWildcard: false, port: 443),
          ], upstreams: ["key.example.com/v1"]))
    #expect(settings.upstreams.dropFirst().allSatisfy { $0.redirects == nil })
    #expect(payments.timeouts.responseHead == 300_000)
    #expect(payments.httpVersion == .auto)
    #expect(settings.upstreams.dropFirst().allSatisfy { $0.httpVersion == .http1 })
    let stored = try #require(settings.upstreams.first { $0.name == "stored" })
    #expect(
      stored.cache
        == CacheRules(
          share: .credential, maxObject: 2 << 20, defaultLifetime: .seconds(60), staleWhileRevalidate: 10,
          staleIfError: 86_400, collapse: .all, ignored: IgnoredFields(["X-Correlation-Id", "X-Tenant-*"]),
          honoursClientDirectives: false))
    #expect(stored.timeouts.collapse == 2_000 && payments.timeouts.collapse == 5_000)
    let kept = try #require(settings.upstreams.first { $0.name == "kept.example.com" })
    #expect(kept.cache == CacheRules(defaultLifetime: .heuristic, minimumLifetime: 30))
    #expect(settings.upstreams.count { $0.cache != nil } == 2)
    #expect(payments.retry.attempts == 2)
    let certificate = try #require(payments.clientCertificate)
    #expect(String(decoding: certificate.certificates, as: UTF8.self) == PEMSamples.certificate + "\n")
    #expect(certificate.key == secret(PEMSamples.encryptedKey))
    #expect(certificate.passphrase == secret("s3cr3t"))
    #expect(payments.requestHeaders.remove == ["X-Debug-*", "Accept"])
    #expect(payments.requestHeaders.set.map(\.name) == ["User-Agent", "X-App"])
    #expect(payments.requestHeaders.set.map(\.value.texts) == [["billing/1"], ["app ", " {1}"]])
    #expect(
      payments.responseHeaders
        == HeaderRuleSettings(set: [HeaderRuleSettings.Field(name: "X-Served", value: try FieldTemplate("{client}"))]))

    let wildcard = settings.upstreams[1]
    #expect(wildcard.name == "*.example.com")
    #expect(wildcard.match == UpstreamSettings.Match(host: "example.com", isWildcard: true))
    #expect(wildcard.origin == UpstreamSettings.Origin(scheme: .https, host: "", port: 443))
    #expect(!wildcard.originIsExplicit)

    let literal = settings.upstreams[2]
    #expect(literal.match == UpstreamSettings.Match(host: "2001:db8::1", port: 8080))
    #expect(literal.origin == UpstreamSettings.Origin(scheme: .http, host: "2001:db8::1", port: 8080))
    #expect(settings.upstreams[3].match.host == "bearer.example.com")
    // The credential has no `allow_plaintext`.
    #expect(settings.upstreams[4].origin == UpstreamSettings.Origin(socket: "/etc/authproxy/run/docker.sock"))
    #expect(settings.upstreams[4].originIsExplicit)
  }

  @Test("interception has the right settings")
  func interception() throws {
    let (settings, _) = try load()
    let intercept = try #require(settings.intercept)
    #expect(intercept.source == .files)
    #expect(intercept.publish == "/run/authproxy/ca")
    #expect(intercept.leafLifetime == 86_400_000)
    #expect(intercept.leafCache == 1000)
    #expect(intercept.minimumVersion == .tls12)
    let certificates = try ["ca/issuer.pem", "open/issuer.pem"].map {
      try Certificate.parse(pem: Array((World.files[$0] ?? "").utf8))
    }
    #expect(intercept.authorities.list.map(\.chain) == certificates)
    let both = try #require(settings.upstreams.first { $0.name == "both.example.com" })
    #expect(
      both.matches == [
        UpstreamSettings.Match(host: "both.example.com"), UpstreamSettings.Match(scheme: .https, host: "both.example.com"),
      ])
    #expect(both.matches[1].port == 443)
    #expect(both.origin == UpstreamSettings.Origin(scheme: .https, host: "both.example.com", port: 443))
    let secure = try #require(settings.upstreams.first { $0.name == "secure" })
    #expect(
      secure.matches == [
        UpstreamSettings.Match(scheme: .https, host: "example.com", isWildcard: true, port: 8443, pathPrefix: "/v1")
      ])
    #expect(secure.origin == UpstreamSettings.Origin(scheme: .https, host: "", port: 8443))
    #expect(
      settings.signedNames.map(\.text) == ["both.example.com", "*.example.com", "proxy.example.com", "192.0.2.7"])
  }

  @Test("credentials have the right settings")
  func credentials() throws {
    let (settings, _) = try load()
    #expect(
      settings.credentials["plain"]?.kind == .bearer(token: secret("from-a-program")))
    #expect(
      settings.credentials["api-key"]?.kind
        == .header(name: "X-Api-Key", value: secret("s3cr3t"), format: "Token {value}"))
    #expect(
      settings.credentials["camera"]?.kind
        == .digest(DigestPolicy(username: "svc", password: secret("s3cr3t"), algorithms: [.sha512t256, .sha256])))
    #expect(settings.credentials["maps"]?.kind == .query(name: "key", value: secret("s3cr3t")))
    #expect(settings.credentials["telegram"]?.kind == .path(segment: "bot{value}", value: secret("s3cr3t")))
    #expect(
      settings.credentials["example-api"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .token(url: "https://login.example.com/oauth/token"), grant: .clientCredentials, clientID: "my-app",
            clientAuthentication: .basic(secret: secret("s3cr3t")), scope: "read write",
            parameters: ["audience": "https://api.example.com"], trust: "strict")))
    #expect(
      settings.credentials["refreshing"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .issuer(url: "https://login.example.com"), grant: .refreshToken(secret("s3cr3t")), clientID: "my-app",
            clientAuthentication: .none)))
    let key = OAuth2Policy.SigningKey(
      pem: secret(PEMSamples.encryptedKey), passphrase: secret("s3cr3t"), keyID: "2026-01")
    #expect(
      settings.credentials["signed"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .token(url: "https://login.example.com/oauth/token"),
            grant: .jwtBearer(.signed(issuer: "i", subject: "s", audience: "a", lifetime: 300_000, key: key)), clientID: nil,
            clientAuthentication: .none)))
    #expect(
      settings.credentials["workload"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .token(url: "https://login.example.com/oauth/token"), grant: .clientCredentials, clientID: nil,
            clientAuthentication: .clientAssertion(secret("s3cr3t")))))
    #expect(settings.credentials["keyed"]?.allowUntrusted == true)
    let subject = LoginSettings(
      redirectURI: try RedirectURI("http://[::1]:8484/"), authorizationParameters: ["prompt": "consent"], use: .idToken,
      subject: "248289761001", lifetime: 7_776_000_000)
    #expect(
      settings.credentials["mailbox"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .issuer(url: "https://login.example.com"),
            endpoints: OAuth2Policy.ExplicitEndpoints(
              authorization: "https://www.example.com/authorize?tenant=7",
              deviceAuthorization: "https://login.example.com/device", revocation: "http://127.0.0.1:8080/revoke"),
            grant: .authorizationCode(subject), clientID: "my-app", clientAuthentication: .none,
            scope: "openid offline_access mail.read", resource: ["https://mail.example.com", "urn:example:mail"])))
    #expect(
      settings.credentials["cluster"]?.kind
        == .oauth2(
          OAuth2Policy(
            endpoint: .token(url: "https://login.example.com/token"),
            endpoints: OAuth2Policy.ExplicitEndpoints(deviceAuthorization: "https://login.example.com/device"),
            grant: .deviceCode(LoginSettings()), clientID: "my-app",
            clientAuthentication: .basic(secret: secret("s3cr3t")), resource: ["https://cluster.example.com"])))
    let issuer = OAuth2Policy.Endpoint.issuer(url: "https://as.partner.example")
    let leaf = try #require(PEM.blocks(Array(PEMSamples.certificate.utf8)).first).der
    func certificate(key: String, passphrase: Secret? = nil, bindsTokens: Bool = false) -> OAuth2Policy.ClientCertificate {
      let files = CertificateFiles(
        certificates: Array((PEMSamples.certificate + "\n").utf8), key: secret(key), passphrase: passphrase)
      return .init(files: files, thumbprint: SHA256.digest(leaf), bindsTokens: bindsTokens)
    }
    let bound = certificate(key: PEMSamples.encryptedKey, passphrase: secret("s3cr3t"), bindsTokens: true)
    for (name, authentication, certificate) in [
      ("partner", .certificate, bound), ("self-signed", .certificate, certificate(key: PEMSamples.key)),
      ("hashed", .secretJWT(secret("s3cr3t-of-just-thirty-two-bytes!")), nil),
    ] as [(String, OAuth2Policy.ClientAuthentication, OAuth2Policy.ClientCertificate?)] {
      #expect(
        settings.credentials[name]?.kind
          == .oauth2(
            OAuth2Policy(
              endpoint: issuer, grant: .clientCredentials, clientID: "my-app", clientAuthentication: authentication,
              clientCertificate: certificate)), "\(name)")
    }
    guard case .oauth2(let keyed)? = settings.credentials["keyed"]?.kind else {
      Issue.record("no credential keyed")
      return
    }
    #expect(
      keyed.clientAuthentication == .privateKeyJWT(.init(pem: secret(PEMSamples.key), algorithm: .es256)))
    try exchanges(settings)
    negotiations(settings)
    guard case .file(let path, let storeKey?) = settings.tokenStore else {
      Issue.record("no token store")
      return
    }
    #expect(path == "/etc/authproxy/tokens.json")
    #expect(storeKey.bytes == Array(0..<32))
  }

  @Test("sources of keys and tokens have the right settings")
  func sources() throws {
    let (settings, _) = try load()
    func keys(_ name: String) -> AWSKeySource? {
      guard case .aws(let source)? = settings.credentials[name]?.tokens?.source else { return nil }
      return source
    }
    let environment = SourceEnvironment(World.environment)
    let roles = [
      AWSKeySource.Role(arn: "arn:aws:iam::123456789012:role/first"),
      AWSKeySource.Role(arn: "arn:aws:iam::123456789012:role/path/second", externalID: secret("s3cr3t")),
    ]
    #expect(
      keys("aws-role")
        == AWSKeySource(
          base: .profile, profile: "work", roles: roles, sts: "https://sts.eu-central-1.amazonaws.com", region: "eu-central-1",
          environment: environment))
    #expect(settings.credentials["aws-role"]?.tokens?.trust == "strict")
    #expect(settings.credentials["aws-role"]?.tokens?.retryStatuses == [])
    #expect(
      keys("aws-program")
        == AWSKeySource(base: .process(.init(arguments: ["/etc/authproxy/bin/keys", "x"])), environment: environment))
    let scope = "https://www.googleapis.com/auth/cloud-platform"
    for (name, identity) in [
      ("gcp", CloudIdentity.google(.access(scopes: [scope]), environment: environment)),
      ("gcp-id", .google(.identity(audience: "run"), environment: environment)),
      ("azure", .azure(resource: "https://vault.azure.net", clientID: "c", environment: environment)),
    ] {
      #expect(settings.credentials[name]?.kind == .oauth2(OAuth2Policy(source: .cloudIdentity(identity))), "\(name)")
    }
    let key = OAuth2Policy.SigningKey(
      pem: secret(PEMSamples.rsaKey), passphrase: secret("s3cr3t"), algorithm: .rs256)
    let app = GitHubApp(
      appID: "12345", installationID: "678", key: key, repositories: ["example"],
      permissions: [.init(name: "contents", access: "read"), .init(name: "issues", access: "write")])
    #expect(
      settings.credentials["installation"]?.kind
        == .oauth2(OAuth2Policy(source: .githubApp(app), server: "https://api.github.com", trust: "strict")))
  }

  private func negotiations(_ settings: Settings) {
    for (name, policy) in [
      (
        "intranet",
        NegotiatePolicy(
          source: .keytab("/etc/authproxy/svc.keytab"), principal: "svc@EXAMPLE.COM", servicePrincipal: "HTTP/web.example.com",
          bindsChannel: false, mutual: .required)
      ),
      ("shared-tickets", NegotiatePolicy(source: .cache("FILE:/etc/authproxy/krb5cc"))),
      ("by-password", NegotiatePolicy(source: .password(secret("s3cr3t")), principal: "svc")),
    ] {
      #expect(settings.credentials[name]?.kind == .negotiate(policy), "\(name)")
    }
  }

  private func exchanges(_ settings: Settings) throws {
    func policy(_ name: String) throws -> OAuth2Policy {
      guard case .oauth2(let policy)? = settings.credentials[name]?.kind else { throw UnitError("\(name) is no oauth2") }
      return policy
    }
    func uri(_ type: TokenType) -> String { "urn:ietf:params:oauth:token-type:\(type.rawValue)" }
    let downstream = try policy("downstream")
    #expect(
      downstream.grant
        == .tokenExchange(
          ExchangeSettings(
            // The login sends its id_token.
            subject: .init(.credential("mailbox"), type: uri(.idToken)),
            actor: .init(.secret(secret("s3cr3t")), type: uri(.jwt)),
            requestedType: "urn:example:token", audience: ["orders", "billing"])))
    #expect(downstream.resource == ["https://orders.example.com"])
    #expect(downstream.sourceNames == ["mailbox"])
    #expect(!downstream.isPerSubject)
    let federated = try policy("federated")
    #expect(
      federated.exchange
        == ExchangeSettings(
          subject: .init(.secret(secret("s3cr3t")), type: uri(.jwt)),
          actor: .init(.credential("cluster"), type: uri(.accessToken)), audience: ["orders"]))
    #expect(federated.clientID == nil)
    let onBehalf = try policy("on-behalf")
    #expect(onBehalf.exchange == ExchangeSettings(subject: .init(.client, type: uri(.accessToken))))
    #expect(onBehalf.isPerSubject)
    let entra = try policy("entra")
    #expect(entra.grant == .jwtBearer(.client))
    #expect(entra.isPerSubject)
    #expect(entra.parameters == ["requested_token_use": "on_behalf_of"])
  }

  @Test("sigv4 credentials with static keys have the right settings")
  func sigV4() throws {
    let (settings, _) = try load()
    #expect(
      settings.credentials["bucket"]?.kind
        == .sigv4(
          SigV4Policy(
            service: .named("s3"), region: .named("eu-central-1"), payload: .unsigned,
            keys: .fixed(
              AWSKeys(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret("s3cr3t"), sessionToken: secret("s3cr3t"))))))
    #expect(
      settings.credentials["queue"]?.kind
        == .sigv4(
          SigV4Policy(
            service: .oneOf(["sqs", "sns"]), region: .oneOf(["eu-central-1", "eu-west-1"]), payload: .auto,
            keys: .fixed(AWSKeys(accessKeyID: "AKIDEXAMPLE", secretAccessKey: secret("s3cr3t"))))))
  }

  @Test("credentials that sign have the right settings")
  func signing() throws {
    let (settings, _) = try load()
    let key = secret(PEMSamples.key)
    let encrypted = secret(PEMSamples.encryptedKey)
    let passphrase = secret("s3cr3t")
    for (name, kind) in [
      (
        "minted",
        .jwt(
          JWTPolicy(
            key: .privateKey(encrypted, passphrase: passphrase), algorithm: .es256, keyID: "2026-01",
            claims: .init(
              issuer: "i", subject: "s", audience: "a",
              more: [("scope", #""read""#), ("groups", #"["one","two"]"#), ("only", #"["one"]"#)]),
            retryStatuses: [401, 403]))
      ),
      (
        "apple",
        .jwt(
          JWTPolicy(
            key: .privateKey(key, passphrase: nil), algorithm: .es256, keyID: "ABC123", claims: .init(issuer: "TEAM"),
            preset: .apns, expires: false, retryStatuses: []))
      ),
      (
        "shared",
        .jwt(
          JWTPolicy(
            key: .secret(secret("s3cr3t-of-just-thirty-two-bytes!")), algorithm: .hs256,
            claims: .init(more: [("admin", "true"), ("n", #"{"a":[1,2.50]}"#)]), expires: false, field: "X-Token",
            format: "{jwt}"))
      ),
      (
        "venue",
        .hmac(
          HMACPolicy(
            key: passphrase, algorithm: .sha512,
            message: try MessageTemplate("{timestamp}{method}{target}{body}{passphrase}", values: ["id", "passphrase"]),
            output: .base64, timestamp: .unixMilliseconds,
            values: [.init(name: "id", value: secret("my-id")), .init(name: "passphrase", value: passphrase)],
            fields: [
              .init(name: "X-Key", value: try MessageTemplate("{id}", values: ["id"])),
              .init(name: "X-Time", value: try MessageTemplate("{timestamp}")),
              .init(name: "X-Sign", value: try MessageTemplate("{signature}")),
            ]))
      ),
      (
        "web-bot",
        .httpSignature(
          HTTPSignaturePolicy(
            keyID: "my-key", key: .privateKey(encrypted, passphrase: passphrase), algorithm: .ecdsaP256,
            components: ["@method", "@authority", "x-date"], contentDigest: .sha512, lifetime: 300_000, tag: "web-bot-auth",
            sendsNonce: true, label: "sig2"))
      ),
      ("coded", .httpSignature(HTTPSignaturePolicy(keyID: "k", key: .secret(passphrase), algorithm: .hmac))),
    ] as [(String, CredentialPolicy.Kind)] {
      #expect(settings.credentials[name]?.kind == kind, "\(name)")
    }
  }

  @Test("trust policies have the right settings")
  func trust() throws {
    let (settings, _) = try load()
    let certificate = try #require(PEM.blocks(Array(PEMSamples.certificate.utf8)).first).der
    let next = try #require(PEM.blocks(Array(PEMSamples.next.utf8)).first).der
    let list = try #require(PEM.blocks(Array(PEMSamples.list.utf8)).first).der
    let pin = try #require(Base64.decode(PEMSamples.pin.utf8.dropFirst(7)))
    let strict = try #require(settings.trust["strict"])
    #expect(strict.anchors == .only([certificate]))
    #expect(strict.minimumVersion == .tls13)
    #expect(
      strict.evaluators == [
        .chain(TrustPolicy.Validation()),
        .pinnedPublicKeys(
          TrustPolicy.PinnedPublicKeys(pins: [[UInt8](repeating: 0, count: 32), pin], expires: 3_800_044_800)),
        .pinnedCertificates(TrustPolicy.PinnedCertificates(certificates: [certificate, next])),
        .revocation(
          TrustPolicy.Revocation(
            methods: [.crl, .ocsp], responder: "http://ocsp.internal/", lists: [list], scope: .leaf,
            validation: TrustPolicy.Validation(chain: false))),
        .composite([.composite([.revocation(TrustPolicy.Revocation(network: false))])]),
      ])
    #expect(settings.trust["lab"]?.evaluators == [.disabled])
    #expect(settings.trust["default"]?.anchors == .system)
  }

  @Test("the sources of everything are recorded: files once each, secrets by their key")
  func provenance() throws {
    let (_, loaded) = try load()
    #expect(
      Set(loaded.watched.map(\.path))
        == Set(
          [
            "token", "cert.pem", "encrypted.pem", "next.pem", "crl.pem", "key.pem", "key32", "ca/issuer.pem", "ca/issuer.key",
            "open/issuer.pem", "open/issuer.key", "long", "rsa.pem",
          ].map { "/etc/authproxy/" + $0 }))
    #expect(loaded.watched.count == 13)
    #expect(loaded.watched.allSatisfy { $0.digest.count == 32 && $0.identity != nil })
    let sources = loaded.secretSources.mapValues(\.description)
    #expect(sources["clients[0].password"] == "file /etc/authproxy/token")
    #expect(sources["credentials.legacy-basic.basic.password"] == "environment variable TOKEN")
    #expect(sources["credentials.plain.bearer.token"] == "command /etc/authproxy/bin/helper")
    #expect(sources["credentials.person.oauth2.client_secret"] == "written in the configuration")
    #expect(sources["credentials.partner.oauth2.client_certificate.key"] == "file /etc/authproxy/encrypted.pem")
    #expect(sources["token_store.key"] == "file /etc/authproxy/key32")
    #expect(loaded.refreshedPrograms.map(\.keyPath) == ["credentials.plain.bearer.token"])
    #expect(loaded.refreshedPrograms.first?.program.refresh == 1_800_000)
    #expect(loaded.source(ofStaticCredential: "api-key") == .file("/etc/authproxy/token"))
    #expect(loaded.source(ofStaticCredential: "example-api") == nil)
    #expect(loaded.source(ofOAuth2Credential: "workload", "client_assertion") == .file("/etc/authproxy/token"))
    #expect(!String(reflecting: loaded.secretSources).contains("s3cr3t"))
    #expect(!"\(loaded)".contains("s3cr3t"))
  }
}
