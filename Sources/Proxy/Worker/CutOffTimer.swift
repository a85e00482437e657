import EventIO
import Settings
import Upstreams

/// Ends the exchanges that a reload has cut off, when their time is up.
final class CutOffTimer: EventHandler {
  private unowned let worker: Worker
  init(_ worker: Worker) { self.worker = worker }
  override func expired(on loop: EventLoop) { worker.endCutOff() }
}
