import CSystem
import Dispatch
import Proxy

extension Service {
  /// Not ready any more from now on; accepts for `shutdown_delay` more, then drains, then calls `done`. Only the first call counts.
  /// Before anything is served, `done` is called at once.
  public func shutDown(_ done: @escaping @Sendable () -> Void) {
    let (phase, timeouts) = state.withLock { state in
      let phase = state.lifecycle.phase
      guard phase == .serving, let timeouts = state.snapshot?.settings.timeouts else {
        return (phase, nil as (delay: Int, drain: Int)?)
      }
      state.lifecycle.phase = .stopping
      return (phase, (timeouts.shutdownDelay, timeouts.drain))
    }
    if phase == .starting { return done() }
    guard let timeouts else { return }
    // Writing out the logs may take a second.
    supervisor.stopping(milliseconds: timeouts.delay + timeouts.drain + 5_000)
    logger.info("shutting down", metadata: ["shutdown_delay_ms": "\(timeouts.delay)", "drain_ms": "\(timeouts.drain)"])
    shutdowns.asyncAfter(deadline: .now() + .milliseconds(timeouts.delay)) { @Sendable in
      self.drain(milliseconds: timeouts.drain, done)
    }
  }

  private func drain(milliseconds: Int, _ done: @escaping @Sendable () -> Void) {
    let listeners = state.withLock {
      $0.lifecycle.phase = .draining
      return $0.listeners
    }
    for listener in listeners { listener.retire() }
    let now = csys_monotonic()
    // Kept-alive clients learn from their next answer that there is no further one; who asks nothing for so long is idle.
    let grace = min(1_000, milliseconds / 2)
    // Told once it holds everywhere; a loop that hangs must not keep the process from ending.
    let drained = DispatchGroup()
    for executor in group.executors {
      drained.enter()
      executor.call { loop in
        Worker.of(loop).drain(grace: grace)
        drained.leave()
      }
    }
    _ = drained.wait(timeout: .now() + .milliseconds(min(1_000, milliseconds)))
    logger.info("draining", metadata: ["connections": "\(group.connections)"])
    let linger = listeners.map(\.linger).max() ?? 0
    // What the kernel accepts while the listeners linger is served, too; the timers of a loop are up to a tick late.
    let earliest = now + Int64(min(linger + 40, milliseconds)) * 1_000_000
    waitForEnd(notBefore: earliest, deadline: now + Int64(milliseconds) * 1_000_000, done)
  }

  private func waitForEnd(notBefore earliest: Int64, deadline: Int64, _ done: @escaping @Sendable () -> Void) {
    shutdowns.asyncAfter(deadline: .now() + .milliseconds(20)) { @Sendable in
      let now = csys_monotonic()
      let left = self.group.connections
      // A refresh token that is being exchanged is worth waiting for: a kill could lose it.
      if left == 0 && !self.shared.mustFinish && now >= earliest || now >= deadline {
        if left > 0 { self.logger.warning("the drain is over: connections are cut", metadata: ["connections": "\(left)"]) }
        done()
      } else {
        self.waitForEnd(notBefore: earliest, deadline: deadline, done)
      }
    }
  }
}
