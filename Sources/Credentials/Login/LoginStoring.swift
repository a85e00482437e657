/// The last step of both kinds of logins: open the store, compare the person, write. Only then somebody is logged in.
struct LoginStoring {
  let login: CompletedLogin
  private(set) var isWriting = false

  init(_ login: CompletedLogin, _ core: inout LoginCore) {
    self.login = login
    core.perform(.openStore)
  }

  /// - Parameter wall: Unix seconds.
  /// - Returns: the end, if the login is stored.
  /// - Throws: if it will not be.
  mutating func take(
    _ input: LoginInput, _ judgement: LoginJudgement, _ core: inout LoginCore, wall: Int64
  ) throws(LoginEnd) -> LoginEnd? {
    switch input {
    case .storeOpened(let subject) where !isWriting:
      do throws(LoginEnd) { try judgement.checkSubject(login, recorded: subject) } catch {
        core.perform(.closeStore)
        throw error
      }
      isWriting = true
      core.perform(.store(login))
      return nil
    case .stored where isWriting:
      if let warning = judgement.warning(login, wall: wall) { core.perform(.note(warning)) }
      return judgement.success(login)
    case .storeFailed(let why):
      throw LoginEnd(.store("\(LogText.bounded(why)); nothing was stored"))
    default: return nil
    }
  }
}
