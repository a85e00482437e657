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
  private static func target(_ authority: String, _ path: String, origin: CacheDigest = .none) -> CacheTarget {
    Array(authority.utf8).withUnsafeBytes { authority in
      Array(path.utf8).withUnsafeBytes { CacheTarget(origin: origin, authority: authority, path: $0) }
    }
  }

  /// undici#4209: the query counts.
  @Test(
    "`counts byte for byte, with its query`",
    arguments: ["/A", "/a?", "/a?x=1", "/%61", "/a/", "/a//", "/a/.", "/a?b=2&a=1", "/a?a=1&b=2"])
  func bytes(path: String) {
    #expect(Self.target("h", path) != Self.target("h", "/a"))
    #expect(Self.target("h", path) == Self.target("h", path))
    #expect(Self.target("h", path).path == Array(path.utf8))
  }

  @Test("has a host in any case, and always a path")
  func host() {
    #expect(Self.target("API.Example.com:80", "/x") == Self.target("api.example.com:80", "/x"))
    #expect(Self.target("h", "") == Self.target("h", "/"))
    #expect(Self.target("h", "?q") == Self.target("h", "/?q"))
    #expect(Self.target("h", "/x") != Self.target("h2", "/x"))
    #expect(Self.target("h", "/x", origin: CacheDigest(parts: [[1]])) != Self.target("h", "/x"))
    #expect(Self.target("H", "/x").authority == Array("h".utf8))
  }
}
