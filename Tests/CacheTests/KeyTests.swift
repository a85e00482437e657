import Testing

@testable import Cache

@Suite("A partition")
struct PartitionTests {
  private static let base = Partition.Base(
    entry: "api", origin: Array("https://api.example.com:443".utf8), trust: [1], certificate: [2], rules: [3],
    match: "api.example.com",
    share: .client)
  private static func id(
    _ base: Partition.Base = base, credential: CacheDigest = .none, takesGzip: Bool? = nil,
    client: Partition.Client = .name("a")
  ) -> CacheDigest {
    Partition(base, credential: credential, takesGzip: takesGzip, client: client).id
  }

  /// parapet#185, souin#247, varnish#38, advisory-db#2697.
  @Test("`is another for every part of who asks whom with what`")
  func parts() {
    var ids: [CacheDigest] = [Self.id()]
    func changed(_ change: (inout Partition.Base) -> Void) {
      var base = Self.base
      change(&base)
      ids.append(Self.id(base))
    }
    changed { $0.entry = "other" }
    changed { $0.origin = Array("http://api.example.com:443".utf8) }
    changed { $0.trust = [9] }
    changed { $0.trust = [] }
    changed { $0.certificate = [9] }
    changed { $0.certificate = [] }
    changed { $0.rules = [9] }
    changed { $0.match = "*.example.com" }
    changed { $0.asked = .init(host: "h", port: 80, field: []) }
    changed { $0.asked = .init(host: "h2", port: 80, field: []) }
    changed { $0.asked = .init(host: "h", port: 81, field: []) }
    changed { $0.asked = .init(host: "h", port: 80, field: Array("h.".utf8)) }
    changed { $0.share = .credential }
    changed { $0.share = .all }
    changed { $0.share = .everyone }
    // Parts do not run into each other.
    changed {
      $0.trust = [1, 2]
      $0.certificate = []
    }
    ids.append(Self.id(credential: CredentialIdentity.ofValue([1])))
    ids.append(Self.id(credential: CredentialIdentity.ofValue([2])))
    ids.append(Self.id(credential: CredentialIdentity.ofAccount([[1]], login: [1])))
    ids.append(Self.id(credential: CredentialIdentity.ofAccount([[1]], login: [2])))
    ids.append(Self.id(credential: CredentialIdentity.ofAccount([[2]], login: [1])))
    ids.append(Self.id(takesGzip: true))
    ids.append(Self.id(takesGzip: false))
    ids.append(Self.id(client: .name("b")))
    ids.append(Self.id(client: .address(Array("a".utf8))))
    ids.append(Self.id(client: .user(97)))
    ids.append(Self.id(client: .user(98)))
    #expect(Set(ids).count == ids.count)
    #expect(Self.id() == Self.id())
  }

  @Test("has a host in any case")
  func host() {
    var (one, other) = (Self.base, Self.base)
    one.asked = .init(host: "h", port: 80, field: Array("H:80".utf8))
    other.asked = .init(host: "h", port: 80, field: Array("h:80".utf8))
    #expect(Self.id(one) == Self.id(other) && one == other)
  }

  @Test(
    "is the same for all clients where an answer serves several", arguments: [CacheRules.Share.everyone, .all, .credential])
  func several(share: CacheRules.Share) {
    var base = Self.base
    base.share = share
    #expect(Self.id(base, client: .name("a")) == Self.id(base, client: .user(7)))
  }

  /// argo-cd#25879, test-infra#20306.
  @Test("`outlives a token`")
  func token() {
    let account = [Array("https://login/token".utf8), Array("app".utf8)]
    #expect(
      CredentialIdentity.ofAccount(account, login: [1]) == CredentialIdentity.ofAccount(account, login: [1]))
    #expect(CredentialIdentity.ofAccount([], login: [1]) != CredentialIdentity.ofValue([1]))
  }
}

@Suite("A target")
struct TargetTests {
  private static func target(_ path: String, origin: CacheDigest = .none) -> CacheTarget {
    Array(path.utf8).withUnsafeBytes { CacheTarget(origin: origin, path: $0) }
  }

  /// undici#4209: the query counts.
  @Test(
    "`counts byte for byte, with its query`",
    arguments: ["/A", "/a?", "/a?x=1", "/%61", "/a/", "/a//", "/a/.", "/a?b=2&a=1", "/a?a=1&b=2"])
  func bytes(path: String) {
    #expect(Self.target(path) != Self.target("/a"))
    #expect(Self.target(path) == Self.target(path))
    #expect(Self.target(path).path == Array(path.utf8))
  }

  @Test("has an origin, and always a path")
  func origin() {
    #expect(Self.target("") == Self.target("/") && Self.target("?q") == Self.target("/?q"))
    #expect(Self.target("/x", origin: CacheDigest(parts: [[1]])) != Self.target("/x"))
  }
}
