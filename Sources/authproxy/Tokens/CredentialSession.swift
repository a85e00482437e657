import ArgumentParser
import CSystem
import ConfigurationFile
import Credentials
import EventIO
import Login
import Proxy
import Settings

/// One credential with its store and its server, for the commands that log in and out. They read nothing else of the configuration.
final class CredentialSession {
  let name: String
  let policy: OAuth2Policy
  private let access: EndpointAccess
  /// Without SIGPIPE: the browser may be gone.
  private let signals = Signals()

  /// Becomes the owner of the token store's folder if it runs as root. Prints errors and warnings.
  init(config: String, name: String?, for use: CredentialUse) throws {
    try StoreFolder.becomeOwner(config: config)
    let single: SingleCredential
    do throws(CredentialLookupError) {
      single = try ConfigurationFile.readCredential(
        named: name, for: use, path: config, environment: Environment.current)
    } catch {
      switch error {
      case .usage(let reason):
        Terminal.error("authproxy: \(reason)")
        throw ExitStatus.usage
      case .configuration(let diagnostics):
        for diagnostic in diagnostics { Terminal.error("\(diagnostic)") }
        throw ExitStatus.badConfiguration
      }
    }
    for diagnostic in single.configuration.diagnostics { Terminal.error("\(diagnostic)") }
    self.name = single.policy.name
    policy = single.oauth2
    do throws(SnapshotBuilder.LoadError) {
      access = try EndpointAccess(to: single.policy.name, in: single.settings, sources: single.configuration.secretSources)
    } catch {
      Terminal.error("\(config): error: \(error)")
      throw ExitStatus.badConfiguration
    }
  }

  /// Whether a browser on this machine can bring the answer.
  var listens: Bool { policy.login?.redirectURI.listener != nil }

  /// Prints how it ended, and exits with its status unless that is 0.
  func report(_ end: LoginEnd) throws {
    Terminal.error(end.exit == .done ? end.text : "authproxy: \(name): \(end.text)")
    guard end.exit == .done else { throw ExitCode(end.exit.rawValue) }
  }

  // MARK: Machines

  /// Runs a machine to its end on a loop of its own.
  /// - Parameter readsLines: lines of standard input are pasted answers.
  func run(_ machine: LoginMachine, readsLines: Bool = false) -> (LoginEnd, LoginMachine) {
    let (group, outcome, seat) = (LoopGroup(count: 1), Handover<(LoginEnd, LoginMachine)>(), Seat())
    let (access, timeout) = (access, policy.timeout)
    let store = RecordStore(name, policy, access.store)
    group.start()
    group.executors[0].call { loop in
      let surroundings = CommandSurroundings(EndpointClient(access, on: loop, of: group), timeout: timeout)
      let runner = LoginRunner(machine, on: loop, store: store, surroundings: surroundings) { outcome.put(($0, $1)) }
      seat.runner = runner
      runner.start()
    }
    if readsLines {
      StandardInput.readLines { line in group.executors[0].call { _ in seat.runner?.pasted(line) } }
    }
    return outcome.take()
  }

  /// Keeps the runner.
  // SAFETY: `runner` is read and written on the session's loop only.
  private final class Seat: @unchecked Sendable { var runner: LoginRunner? }

  // MARK: Logout

  /// - Parameters:
  ///   - isLocal: the server is not told.
  ///   - precedesLogin: nobody who was not logged in is told so, and only the same account may log in again.
  func logOut(isLocal: Bool = false, precedesLogin: Bool = false) throws {
    let end: LoginEnd?
    do throws(TokenStoreFailure) { end = try logOutOfStore(isLocal: isLocal, precedesLogin: precedesLogin) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
    if let end { try report(end) }
  }

  /// - Returns: how the server took it; nil: it has nothing to revoke.
  private func logOutOfStore(isLocal: Bool, precedesLogin: Bool) throws(TokenStoreFailure) -> LoginEnd? {
    let locked = try LockedRecord(of: name, policy: policy, in: access.store, within: policy.lockPatience)
    let tokens = locked.revocableTokens
    if locked.setAside {
      Terminal.error(
        policy.sharing == nil
          ? "warning: the record of \(name) is damaged, so its tokens may stay valid at the server; the token store has kept it aside"
          : "warning: the record of \(name) cannot be read, so its tokens may stay valid at the server; it is kept under another name"
      )
    }
    switch locked.standing {
    case .loggedIn: break
    case .loggedOut where !tokens.isEmpty: break
    case .unknown:
      // A running proxy may still have tokens of a file that somebody has deleted.
      try locked.writeTombstone(at: wallClockSeconds(), unrevoked: [])
      if !precedesLogin { Terminal.error("the token store knows of no login to \(name); running proxies forget theirs") }
      return nil
    case .loggedOut:
      locked.release()
      if !precedesLogin { Terminal.error("nobody is logged in to \(name)") }
      return nil
    case .otherConfiguration:
      locked.release()
      Terminal.error(
        "nobody is logged in to \(name) with this configuration; the token store has a login with another issuer, token_url or "
          + "client_id, which only a logout with that configuration revokes")
      return nil
    }
    // First the store: whatever the server says, no process uses the tokens any more.
    let generation = try locked.writeTombstone(
      at: wallClockSeconds(), unrevoked: isLocal ? [] : tokens, subject: precedesLogin ? locked.subject : nil)
    if isLocal {
      Terminal.error("logged out of \(name) here; the server was not told, so its tokens stay valid until they expire")
      return nil
    }
    let (end, machine) = run(.logout(LogoutFlow(name: name, policy: policy, tokens: tokens)))
    let again = try LockedRecord(of: name, policy: policy, in: access.store, within: policy.lockPatience)
    try again.keep(unrevoked: end.exit == .done ? [] : machine.unrevoked, inTombstone: generation)
    return end
  }
}

/// A login's side of the token store.
private final class RecordStore: LoginStore {
  private let name: String
  private let policy: OAuth2Policy
  private let store: any TokenStore
  private let locked = Latch<LockedRecord>()

  init(_ name: String, _ policy: OAuth2Policy, _ store: any TokenStore) {
    self.name = name
    self.policy = policy
    self.store = store
  }

  func open() throws(LoginStoreFailure) -> String? {
    do throws(TokenStoreFailure) {
      let found = try LockedRecord(of: name, policy: policy, in: store, within: policy.lockPatience)
      locked.put(found)
      return found.subject
    } catch { throw LoginStoreFailure("\(error)") }
  }

  func write(_ login: CompletedLogin) throws(LoginStoreFailure) {
    guard let locked = locked.take() else { throw LoginStoreFailure("the lock is gone") }
    do throws(TokenStoreFailure) { try locked.write(login) } catch { throw LoginStoreFailure("\(error)") }
  }

  func close() { locked.take()?.release() }
}

/// The command's side of a login.
private final class CommandSurroundings: LoginSurroundings {
  private let client: EndpointClient
  private let timeout: Int

  init(_ client: EndpointClient, timeout: Int) {
    self.client = client
    self.timeout = timeout
  }

  func send(_ request: TokenHTTPRequest, then: @escaping (EndpointAnswer) -> Void) -> () -> Void {
    client.send(request, timeout: timeout, then: then)
  }
  func print(_ line: String) { Terminal.print(line) }
  func note(_ line: String) { Terminal.error(line) }
}
