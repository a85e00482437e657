import Credentials
import Files
import RedisProtocol
import Settings
import Testing
import Trust

@testable import ConfigurationFile

@Suite("Stores that a fleet shares")
struct FleetStoreTests {
  private func settings(_ index: Int) throws -> (Settings, SharedStoreSettings) {
    let loaded = World.read(fleetStores[index])
    #expect(loaded.lines == [])
    let settings = try #require(loaded.settings)
    return (settings, try #require(settings.tokenStore.shared))
  }

  @Test("Redis: every key has its value")
  func redis() throws {
    let (settings, store) = try settings(0)
    guard case .redis(let redis) = store.engine else {
      Issue.record("no redis")
      return
    }
    #expect(redis.location == .server(.tls(host: "valkey.internal", port: 6379)))
    #expect(redis.login == RedisLogin(user: "authproxy", password: Array("s3cr3t".utf8)))
    #expect((redis.database, redis.prefix, redis.replicas) == (3, "fleet:", 2))
    #expect((redis.timeout, redis.trust, redis.allowsPlaintext) == (3_000, "strict", false))
    #expect(redis.clientCertificate?.passphrase == Secret("s3cr3t"))
    guard case .oauth2(let policy)? = settings.credentials["api"]?.kind else {
      Issue.record("no policy")
      return
    }
    let binding = try #require(policy.sharing)
    #expect(binding == TokenBinding.shared(of: policy, for: store.seal))
    #expect(store.name(of: "api", binding: binding).key.hasPrefix("fleet:api:"))
    #expect(store.address == "rediss://valkey.internal:6379")
  }

  @Test("Sentinels: acknowledgements are the default, and their port is another one")
  func sentinels() throws {
    let (settings, store) = try settings(1)
    guard case .redis(let redis) = store.engine else {
      Issue.record("no redis")
      return
    }
    #expect(
      redis.location
        == .sentinels(
          [.tls(host: "s1.internal", port: 26379), .tls(host: "s2.internal", port: 26380)], name: "mymaster",
          login: RedisLogin(user: "watcher", password: Array("s3cr3t".utf8))))
    #expect((redis.replicas, redis.login == nil, store.address) == (1, true, "sentinel mymaster"))
    #expect(settings.credentials["api"]?.tokens?.sharing != nil)
  }

  @Test("Kubernetes: what is written, and its token is not read with the configuration")
  func kubernetes() throws {
    let (_, store) = try settings(2)
    #expect(
      store.engine
        == .kubernetes(
          KubernetesStoreSettings(
            secret: "authproxy-tokens", namespace: "authproxy", address: "https://10.0.0.1:443",
            token: .file("/etc/authproxy/none"), trust: .named("strict"))))
    #expect(store.seal == .withoutKey)
    #expect(store.address == "kubernetes secret authproxy/authproxy-tokens")
  }

  @Test("what a pod's environment and service account say")
  func pod() throws {
    let folder = KubernetesStoreSettings.folder
    let system = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        switch path {
        case "\(folder)/namespace": try World.system.readFile("\(World.folder)/namespace", limit)
        case "\(folder)/ca.crt": try World.system.readFile("\(World.folder)/cert.pem", limit)
        default: try World.system.readFile(path, limit)
        }
      }, run: World.system.run)
    let reading = Reading(
      report: Report(file: "proxy.conf"), folder: World.folder,
      environment: ["KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"], system: system,
      readableByOthers: false, now: 0)
    let text = "listen: 127.0.0.1:3128\nupstreams: [{match: h}]\ntoken_store: {kubernetes: {secret: t}, key: none}\n"
    let loaded = ConfigurationFile.read(Array(text.utf8), reading).loaded
    #expect(loaded.lines == [])
    guard case .kubernetes(let kubernetes)? = loaded.settings?.tokenStore.shared?.engine else {
      Issue.record("no kubernetes")
      return
    }
    #expect((kubernetes.namespace, kubernetes.address) == ("team-a", "https://[fd00::1]:6443"))
    #expect(kubernetes.token == .file("\(folder)/token"))
    guard case .serviceAccount(let policy) = kubernetes.trust, case .only(let anchors) = policy.anchors else {
      Issue.record("not the service account's trust")
      return
    }
    #expect(anchors.count == 1)
  }

  @Test("a secret is told from where it comes, and nothing of it")
  func secrets() throws {
    let loaded = World.read(fleetStores[0])
    #expect(loaded.secretSources["token_store.redis.password"]?.description == "file /etc/authproxy/token")
    #expect(loaded.secretSources["token_store.previous_keys[0]"]?.description == "file /etc/authproxy/other32")
    #expect(!"\(String(describing: loaded.settings))".contains("s3cr3t"))
  }
}
