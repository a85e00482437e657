import Credentials
import EventIO
import Upstreams

/// As the credential of a parent proxy, by the owners and views that serve requests: its value is published to all loops, and a
/// refusal has its source read once more.
extension CredentialSetup: ParentCredential {
  /// No other identity has it.
  public var digest: [UInt8] { Array("\(name) \(serial)".utf8) }

  public func obtain(
    on loop: EventLoop, deliver: @escaping (Result<ParentLogin, ParentLoginMissing>) -> Void
  ) -> any ParentWait {
    let waiter = ParentWaiter(for: name)
    waiter.onCredential = { result in
      deliver(
        result.mapError { ParentLoginMissing(reason: $0.reasonForLog) }.flatMap { version in
          guard version.rendered.material == nil else {
            return .failure(ParentLoginMissing(reason: "this kind does not work for a parent proxy yet; use basic or bearer"))
          }
          return .success(Self.login(version))
        })
    }
    switch CredentialDesk.of(loop).view(of: self).authorize(waiter) {
    case .ready(let version): waiter.credentialArrived(.success(version))
    case .failed(let error): waiter.credentialArrived(.failure(error))
    case .wait(let wait): waiter.wait = wait
    }
    return waiter
  }

  public func refused(
    _ version: UInt64, isSure: Bool, on loop: EventLoop, deliver: @escaping (_ hasAnother: Bool) -> Void
  ) -> any ParentWait {
    let waiter = ParentWaiter(for: name)
    let desk = CredentialDesk.of(loop)
    waiter.onDecision = { decision in
      if case .resend = decision { return deliver(true) }
      guard isSure, case .relay(let reason) = decision, reason == .unchanged || reason == .remembered else {
        return deliver(false)
      }
      desk.home(of: self.name).call { loop in CredentialDesk.of(loop).owner(of: self).refusedByParent(version) }
      deliver(false)
    }
    switch desk.view(of: self).refused(waiter, version: version) {
    case .decided(let decision): waiter.refusalDecided(decision)
    case .wait(let wait): waiter.wait = wait
    }
    return waiter
  }

  private static func login(_ version: CredentialVersion) -> ParentLogin {
    let rendered = version.rendered
    return ParentLogin(
      version: rendered.version, value: Array(rendered.line.dropFirst(rendered.fieldName.count + 2).dropLast(2)))
  }
}

private final class ParentWaiter: CredentialWaiter, ParentWait {
  private let name: String
  var wait: CredentialWait?
  var onCredential: ((Result<CredentialVersion, ProxyError>) -> Void)?
  var onDecision: ((RefusalDecision) -> Void)?

  init(for name: String) { self.name = name }

  override var refusalKey: RequestKey { RequestKey(entry: "parent", client: "", method: "CONNECT", path: Array(name.utf8)) }

  override func credentialArrived(_ result: Result<CredentialVersion, ProxyError>) {
    wait = nil
    let deliver = onCredential
    onCredential = nil
    deliver?(result)
  }

  override func refusalDecided(_ decision: RefusalDecision) {
    wait = nil
    let deliver = onDecision
    onDecision = nil
    deliver?(decision)
  }

  func cancel() {
    wait?.cancel()
    wait = nil
    onCredential = nil
    onDecision = nil
  }
}

extension ProxyError {
  /// One line without secrets.
  fileprivate var reasonForLog: String {
    switch self {
    case .credentialUnavailable(_, let reason, _), .credentialMissing(_, let reason): reason
    default: answer(for: nil).details ?? "it has no value"
    }
  }
}
