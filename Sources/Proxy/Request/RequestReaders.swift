import Cache
import EventIO

// What wakes a request that reads an answer from shared blocks.

/// The request that has begun a fetch.
final class RequestLeader: FetchLeader {
  private let request: Request
  init(_ request: Request) { self.request = request }
  override var position: Int? { request.cache?.reading?.position }
  override func readAgain() { request.readAgain() }
  override func readLater() { request.loop.again(request.app) }
  override func tooSlow() { request.tooSlow() }
  override func endFetching() { request.endFetching() }
}

/// A request's place in the fetch of another one.
final class RequestReader: JoinedFetch {
  private let request: Request
  init(_ request: Request, _ id: ReaderID, _ flight: Flight, owner: LoopExecutor) {
    self.request = request
    super.init(id, flight, owner: owner)
  }
  override func told(_ news: ReaderNews) { request.told(news) }
  override func readAgain() { request.readAgain() }
}
