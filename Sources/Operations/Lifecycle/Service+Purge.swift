import Dispatch
import Logging
import Proxy

extension Service {
  /// Drops stored answers, and logs how many.
  /// - Parameter done: called once, on another thread.
  func purge(_ order: PurgeOrder, _ done: @escaping @Sendable (Result<Int, PurgeOrder.Problem>) -> Void) {
    purges.async { @Sendable in
      guard let snapshot = self.state.withLock({ $0.snapshot }) else {
        return done(.failure(PurgeOrder.Problem(description: "the proxy is starting")))
      }
      let result: Result<Int, PurgeOrder.Problem>
      do throws(PurgeOrder.Problem) { result = .success(try self.shared.purge(order, under: snapshot)) } catch {
        result = .failure(error)
      }
      if case .success(let count) = result {
        var metadata: Logger.Metadata = ["count": "\(count)"]
        // A query may hold what no log may have.
        if let url = order.url {
          metadata["url"] = .string(String(url.prefix { $0 != "?" }) + (url.contains("?") ? "?..." : ""))
        }
        if let upstream = order.upstream { metadata["upstream"] = .string(upstream) }
        if let client = order.client { metadata["client"] = .string(client) }
        self.logger.info("stored answers purged", metadata: metadata)
      }
      done(result)
    }
  }
}
