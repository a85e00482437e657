import Cache

/// Where the store keeps the answer to a request.
final class CacheKey: Sendable {
  let target: CacheTarget
  let partition: Partition
  /// Of the entry's credential; nil: the request goes without.
  let epoch: CredentialEpoch?
  let standing: CredentialStanding?

  init(target: CacheTarget, partition: Partition, epoch: CredentialEpoch?, standing: CredentialStanding?) {
    self.target = target
    self.partition = partition
    self.epoch = epoch
    self.standing = standing
  }

  /// The credential is still the same account's.
  var isOfPresentEpoch: Bool { standing?.epoch == epoch }
}

/// The head of an answer that is stored or shared, and what was decided about it.
final class AnswerDraft: Sendable {
  let key: CacheKey
  let facts: ResponseFacts
  let times: StoredTimes
  let vary: VaryNames
  let variant: CacheDigest
  /// Unix time.
  let received: Int64
  let head: StoredHead
  /// nil: no redirect leads there.
  let origin: OriginHead?
  let began: CacheStore.Beginning
  /// The body's, as far as it is known.
  let length: Int?
  /// Whose place it takes when it is whole: for as long as it may break, the older one may serve.
  let replaced: StoredAnswer?

  init(
    _ key: CacheKey, _ facts: ResponseFacts, _ times: StoredTimes, vary: VaryNames, variant: CacheDigest, received: Int64,
    head: StoredHead, origin: OriginHead?, began: CacheStore.Beginning, length: Int?, replaced: StoredAnswer? = nil
  ) {
    self.key = key
    self.facts = facts
    self.times = times
    self.vary = vary
    self.variant = variant
    self.received = received
    self.head = head
    self.origin = origin
    self.began = began
    self.length = length
    self.replaced = replaced
  }

  /// The whole answer; nil: there is no room for it.
  func answer(_ body: StoredBody, in store: CacheStore) -> StoredAnswer? {
    StoredAnswer(
      store, target: key.target, partition: key.partition, vary: vary, variant: variant, facts: facts, times: times,
      received: received, head: head, origin: origin, body: body)
  }
}
