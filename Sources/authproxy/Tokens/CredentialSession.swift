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
  private let settings: Settings
  private let access: EndpointAccess
  /// Without SIGPIPE: the browser may be gone.
  private let signals = Signals()

  /// Prints errors and warnings.
  init(config: String, name: String?, for use: CredentialUse) throws {
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
    settings = single.settings
    do throws(SnapshotBuilder.LoadError) {
      access = try EndpointAccess(to: single.policy.name, in: settings, sources: single.configuration.secretSources)
    } catch {
      Terminal.error("\(config): error: \(error)")
      throw ExitStatus.badConfiguration
    }
  }

  /// As root: becomes the owner of the store's folder, so that no link of his leads root anywhere, and the proxy can use the files.
  func becomeOwner() throws {
    guard case .file(let path, _) = settings.tokenStore else { return }
    do throws(TokenStoreFailure) { _ = try FileTokenStore.becomeFolderOwner(of: path) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
  }

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
    let store = RecordStore(name, policy, access.store, patience: lockPatience)
    group.start()
    group.executors[0].call { loop in
      let surroundings = CommandSurroundings(access, EndpointClient(access, on: loop, of: group), timeout: timeout)
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

  /// Milliseconds: longer than any refresh of a running proxy takes.
  private var lockPatience: Int64 { 2 * Int64(policy.timeout) + 10_000 }

  // MARK: Logout

  /// - Parameter isSilent: nobody who was not logged in is told so.
  func logOut(isLocal: Bool, isSilent: Bool) throws {
    do throws(TokenStoreFailure) {
      let locked = try LockedRecord(of: name, policy: policy, in: access.store, within: lockPatience)
      let tokens = locked.revocableTokens
      guard locked.isLoggedIn || !tokens.isEmpty else {
        locked.release()
        if !isSilent { Terminal.error("nobody is logged in to \(name)") }
        return
      }
      // First the store: whatever the server says, no process uses the tokens any more.
      let generation = try locked.writeTombstone(at: wallClockSeconds(), unrevoked: isLocal ? [] : tokens)
      if isLocal {
        return Terminal.error("logged out of \(name) here; the server was not told, so its tokens stay valid until they expire")
      }
      let (end, machine) = run(.logout(LogoutFlow(name: name, policy: policy, tokens: tokens)))
      let again = try LockedRecord(of: name, policy: policy, in: access.store, within: lockPatience)
      try again.keep(unrevoked: end.exit == .done ? [] : machine.unrevoked, inTombstone: generation)
      logoutEnd = end
    } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
    if let logoutEnd {
      self.logoutEnd = nil
      try report(logoutEnd)
    }
  }

  private var logoutEnd: LoginEnd?
}

/// A login's side of the token store.
private final class RecordStore: LoginStore {
  private let name: String
  private let policy: OAuth2Policy
  private let store: any TokenStore
  private let patience: Int64
  private let locked = Latch<LockedRecord>()

  init(_ name: String, _ policy: OAuth2Policy, _ store: any TokenStore, patience: Int64) {
    self.name = name
    self.policy = policy
    self.store = store
    self.patience = patience
  }

  func open() throws(LoginStoreFailure) -> String? {
    do throws(TokenStoreFailure) {
      let found = try LockedRecord(of: name, policy: policy, in: store, within: patience)
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
  private let access: EndpointAccess
  private let client: EndpointClient
  private let timeout: Int

  init(_ access: EndpointAccess, _ client: EndpointClient, timeout: Int) {
    self.access = access
    self.client = client
    self.timeout = timeout
  }

  func send(_ request: TokenHTTPRequest, then: @escaping (EndpointAnswer) -> Void) -> () -> Void {
    client.send(request, timeout: timeout, then: then)
  }
  func clientAssertion() -> Secret? { (try? access.clientAssertion()) ?? nil }
  func print(_ line: String) { Terminal.print(line) }
  func note(_ line: String) { Terminal.error(line) }
}
