/// The pools that a loop's requests find: one for each identity. Several may belong to one origin and share its limit.
struct PoolTable {
  private var table: [OriginIdentity: OriginPool] = [:]
  /// The same pools by their limit, which they own. A request's end asks for them, so the key is an address instead of an identity.
  private var families: [ObjectIdentifier: ContiguousArray<OriginPool>] = [:]

  subscript(identity: OriginIdentity) -> OriginPool? {
    get { table[identity] }
    set {
      if let old = table[identity] { leave(old) }
      table[identity] = newValue
      if let newValue { families[ObjectIdentifier(newValue.limit), default: []].append(newValue) }
    }
  }

  private mutating func leave(_ pool: OriginPool) {
    let family = ObjectIdentifier(pool.limit)
    families[family]?.removeAll { $0 === pool }
    if families[family]?.isEmpty == true { families[family] = nil }
  }

  var all: Dictionary<OriginIdentity, OriginPool>.Values { table.values }

  /// Those of one origin: requests of either form, and each authority and credential that shares HTTP/2 connections.
  func pools(sharing limit: OriginLimit) -> ContiguousArray<OriginPool> { family(ObjectIdentifier(limit)) }

  /// The same for the limit to which a client's share belongs.
  func pools(of share: OriginShare) -> ContiguousArray<OriginPool> { family(share.limitAddress) }

  private func family(_ limit: ObjectIdentifier) -> ContiguousArray<OriginPool> { families[limit] ?? [] }
}
