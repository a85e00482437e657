import CSystem
import Dispatch
import Proxy

extension Service {
  /// Reports not ready at once, accepts for `shutdown_delay` more, drains, then calls `done`. Only the first call counts. Before
  /// the proxy serves, calls `done` at once.
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
    // 5 s more, as writing out the logs may take a second.
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
    // The next response tells a client with `Connection: close` to leave. After this time without a request it is idle.
    let grace = min(1_000, milliseconds / 2)
    // Logs "draining" when every loop drains; with a deadline, as a hanging loop must not block the shutdown.
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
    // Connections that the kernel accepts while the listeners linger are served, too. A loop's timers are up to one tick late.
    let earliest = now + Int64(min(linger + 40, milliseconds)) * 1_000_000
    waitForEnd(notBefore: earliest, deadline: now + Int64(milliseconds) * 1_000_000, done)
  }

  private func waitForEnd(notBefore earliest: Int64, deadline: Int64, _ done: @escaping @Sendable () -> Void) {
    shutdowns.asyncAfter(deadline: .now() + .milliseconds(20)) { @Sendable in
      let now = csys_monotonic()
      let left = self.group.connections
      // Wait for a refresh token in exchange: exiting now could lose it.
      if left == 0 && !self.shared.mustFinish && now >= earliest || now >= deadline {
        if left > 0 {
          self.logger.warning(
            "the drain is over: the proxy closes the remaining connections", metadata: ["connections": "\(left)"])
        }
        done()
      } else {
        self.waitForEnd(notBefore: earliest, deadline: deadline, done)
      }
    }
  }
}
