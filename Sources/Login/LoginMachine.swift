import Credentials

/// One of the three machines: they have their inputs and actions in common.
public enum LoginMachine: Sendable {
  case browser(LoginFlow)
  case device(DeviceFlow)
  case logout(LogoutFlow)

  mutating func start(now: Int64, wall: Int64) -> [LoginAction] {
    change(
      { $0.start(now: now, wall: wall) }, { $0.start(now: now, wall: wall) }, { $0.start(now: now, wall: wall) })
  }

  mutating func handle(_ input: LoginInput, now: Int64, wall: Int64) -> [LoginAction] {
    change(
      { $0.handle(input, now: now, wall: wall) }, { $0.handle(input, now: now, wall: wall) },
      { $0.handle(input, now: now, wall: wall) })
  }

  /// After a logout: the tokens that the next one has to revoke.
  public var unrevoked: [RevocableToken] {
    if case .logout(let flow) = self { flow.unrevoked } else { [] }
  }

  private mutating func change(
    _ browser: (inout LoginFlow) -> [LoginAction], _ device: (inout DeviceFlow) -> [LoginAction],
    _ logout: (inout LogoutFlow) -> [LoginAction]
  ) -> [LoginAction] {
    switch self {
    case .browser(var flow):
      defer { self = .browser(flow) }
      return browser(&flow)
    case .device(var flow):
      defer { self = .device(flow) }
      return device(&flow)
    case .logout(var flow):
      defer { self = .logout(flow) }
      return logout(&flow)
    }
  }
}
