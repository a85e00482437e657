import Cache
import EventIO

/// What a request to an entry with `cache` keeps. Other requests have none.
final class CacheState {
  let cache: EntryCache
  let plan: RequestPlan
  /// nil: it goes by the store.
  var key: CacheKey?
  /// Why it goes to the origin.
  var forward = CacheOutcome.Forward.bypass
  /// Why its answer is not stored.
  var refusal: StoreRefusal?
  /// nil: its answer is not stored.
  var asked: AskedFields?
  var stale = Stale()
  var sending = Sending()
  var prepared = Prepared()
  var sharing = Sharing()
  /// What the app gets from the store, or from a fetch.
  var reading: BodyReading?

  /// What is stored, but has to be validated, or serves only if the origin fails.
  struct Stale {
    var answer: StoredAnswer?
    /// Before `answer` was looked up: what a 304 renews is as old as that, however long the request then waits to be sent.
    var seen: CacheStore.Beginning?
    /// It serves at once, while it is validated in the background; seconds, below 0. nil: it does not.
    var left: Int64?
    /// The request has the conditions of `answer` instead of the app's.
    var validates = false
    /// The origin's answer takes the place of `answer`, which serves only if that one breaks before a byte of it has gone.
    var isReplaced = false
  }

  struct Sending {
    /// Before the request was sent.
    var began: CacheStore.Beginning?
    /// When it was sent, in nanoseconds of the loop's clock.
    var time: Int64 = 0
  }

  /// The answer that is on its way into the store.
  struct Prepared {
    /// What its head says.
    var facts: ResponseFacts?
    /// Unix time of its receipt.
    var wall: Int64 = 0
    var draft: AnswerDraft?
    /// What of the outbound block is the head for the store as it is; nil: it has more than that.
    var plain: Range<Int>?
    /// In place of the head of a joined answer: what redirects have made of it.
    var head: StoredHead?
    /// Of its body.
    var writer: BodyWriter?
    /// How its body comes.
    var source: AnswerSource?
    /// It is stored; otherwise those who wait share it only.
    var isStorable = true
  }

  struct Sharing {
    /// What the look-up has found, for what follows in the same step.
    var found: CacheStore.Probe?
    /// The fetch that this request has begun, as long as nobody has joined it.
    var flight: Flight?
    /// The same with its readers.
    var fetch: SharedFetch?
    /// Its place in the fetch of another request, whose answer it waits for, or reads.
    var joined: JoinedFetch?
    var hasJoined = false
    /// It may be answered from what has been stored since the first look.
    var hasWaited = false
    /// A fetch that it had joined broke off.
    var isSecondTry = false
    /// Its app has left, or it never had one: it goes on for others, or for the store.
    var isOrphan = false
    /// It is none of an app.
    var isBackground = false
    /// As of `originFound`.
    var needsCredential = false
  }

  /// It may wait for another's answer, and others for its own.
  var collapses: Bool { cache.rules.collapse != .off && plan.mayCollapse(hasStored: stale.validates) }

  init(_ cache: EntryCache, _ plan: RequestPlan) {
    self.cache = cache
    self.plan = plan
  }
}
