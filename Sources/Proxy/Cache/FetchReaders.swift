import Cache
import EventIO
import Synchronization

/// What a reader of another's fetch is told. All but `read` are the end of its place there, and `read` is followed by nothing else: its
/// blocks say how it goes on.
enum ReaderNews: Sendable {
  /// The head is there.
  case read(SharedAnswer)
  /// The stored answer, now renewed, or the redirect that was stored.
  case answer(StoredAnswer)
  /// Ask by yourself.
  case goAlone
  /// Look into the store again.
  case lookAgain
  case failed(FetchFailure)
  /// You are too slow for the others.
  case cut
}

/// Why a fetch has no answer for those who wait.
enum FetchFailure: Sendable {
  case error(ProxyError)
  /// The origin has a fault, and answered this.
  case status(Int)
}

/// The answer to a fetch, for one reader.
final class SharedAnswer: Sendable {
  let draft: AnswerDraft
  let body: BodyReader
  let subscription: FetchSubscription

  init(_ draft: AnswerDraft, _ body: BodyReader, _ subscription: FetchSubscription) {
    self.draft = draft
    self.body = body
    self.subscription = subscription
  }
}

/// One loop's readers of a fetch are woken together, and once until they have looked.
final class FetchSubscription: Sendable {
  private let flight: Flight
  private let executor: LoopExecutor
  private let isWoken = Atomic<Bool>(false)
  private let isAsked = Atomic<Bool>(false)

  init(_ flight: Flight, _ executor: LoopExecutor) {
    self.flight = flight
    self.executor = executor
  }

  /// The fetch depends on how far its readers are: they tell it.
  var wantsProgress: Bool { isAsked.load(ordering: .acquiring) }
  func askForProgress() { isAsked.store(true, ordering: .releasing) }

  /// More of the body is there, or its end.
  func wake() {
    guard !isWoken.exchange(true, ordering: .acquiringAndReleasing) else { return }
    executor.call { [self] loop in
      // Before they look: what comes behind wakes them again.
      isWoken.store(false, ordering: .releasing)
      loop.resident(CacheDesk.self).wake(flight)
    }
  }
}

/// A request's place among those that read another's fetch. A subclass knows the request.
class JoinedFetch {
  final let id: ReaderID
  final let flight: Flight
  /// The loop that fetches.
  private let owner: LoopExecutor
  /// nil: it waits for the head.
  final private(set) var subscription: FetchSubscription?
  /// Until the reader has begun: whoever holds the beginning of a body holds all of it.
  final private(set) var answer: SharedAnswer?
  private var told = -1

  init(_ id: ReaderID, _ flight: Flight, owner: LoopExecutor) {
    self.id = id
    self.flight = flight
    self.owner = owner
  }

  /// The fetch says how it goes on.
  func told(_ news: ReaderNews) {}
  /// More of the body is there, or its end.
  func readAgain() {}

  /// The head is there.
  final func found(_ answer: SharedAnswer) {
    self.answer = answer
    subscription = answer.subscription
  }

  /// It reads by itself from now on.
  final func begun() { answer = nil }

  func join(_ asked: AskedFields, from executor: LoopExecutor, isSecondTry: Bool) {
    let (flight, id) = (flight, id)
    owner.call { loop in
      loop.resident(CacheDesk.self).join(flight, id, asked, from: executor, isSecondTry: isSecondTry)
    }
  }

  func leave() {
    let (flight, id) = (flight, id)
    owner.call { loop in loop.resident(CacheDesk.self).fetch(of: flight)?.left(id) }
  }

  /// - Parameter position: bytes of the body that the reader has passed.
  func moved(to position: Int) {
    guard let subscription, subscription.wantsProgress, position != told else { return }
    told = position
    let (flight, id) = (flight, id)
    owner.call { loop in loop.resident(CacheDesk.self).fetch(of: flight)?.moved(id, to: position) }
  }
}
