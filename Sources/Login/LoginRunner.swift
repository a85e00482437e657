import Credentials
import EventIO

/// Performs what a login machine asks for, and passes the results back to it. Confined to its loop; docs/login-lifecycle.md says what is
/// asked of it.
public final class LoginRunner: EventHandler {
  /// Milliseconds that the last page has to reach the browser.
  private static let farewell = 2_000
  private static let look = 10

  private let loop: EventLoop
  private var machine: LoginMachine
  private let store: any LoginStore
  private let surroundings: any LoginSurroundings
  private let ended: (LoginEnd, LoginMachine) -> Void
  private var listener: LoopbackListener?
  private var transfers: [UInt64: () -> Void] = [:]
  private var end: LoginEnd?
  private var leaveAt: Int64 = 0

  /// - Parameter ended: called once, on the loop, after the browser has its answer.
  public init(
    _ machine: LoginMachine, on loop: EventLoop, store: any LoginStore, surroundings: any LoginSurroundings,
    ended: @escaping (LoginEnd, LoginMachine) -> Void
  ) {
    self.machine = machine
    self.loop = loop
    self.store = store
    self.surroundings = surroundings
    self.ended = ended
  }

  public func start() {
    perform(machine.start(now: now, wall: wallClockSeconds()))
  }

  /// A line that a person has pasted.
  public func pasted(_ line: Secret) { take(.pasted(line)) }

  private var now: Int64 { loop.now / 1_000_000 }

  private func take(_ input: LoginInput) {
    guard end == nil else { return }
    perform(machine.handle(input, now: now, wall: wallClockSeconds()))
  }

  override public func expired(on loop: EventLoop) {
    guard end == nil else { return leave() }
    take(.timer)
  }

  private func perform(_ actions: [LoginAction]) {
    for action in actions {
      switch action {
      case .fetch(let id, let request):
        transfers[id] = surroundings.send(request) { [weak self] answer in
          guard let self, self.transfers.removeValue(forKey: id) != nil else { return }
          self.take(.answer(fetch: id, answer))
        }
      case .cancelFetch(let id): transfers.removeValue(forKey: id)?()
      case .listen(let place): listen(place)
      case .print(let line): surroundings.print(line)
      case .note(let line): surroundings.note(line)
      case .openBrowser(let program, let url):
        if let why = BrowserProgram.start(program, url: url) { later(.browserFailed("\(program): \(why)")) }
      case .answerBrowser(let connection, let page): listener?.answer(connection, page)
      case .openStore:
        inLane { store in
          do throws(LoginStoreFailure) { return .storeOpened(subject: try store.open()) } catch {
            return .storeFailed(error.text)
          }
        }
      case .store(let login):
        inLane { store in
          do throws(LoginStoreFailure) {
            try store.write(login)
            return .stored
          } catch { return .storeFailed(error.text) }
        }
      case .closeStore:
        inLane { store in
          store.close()
          return nil
        }
      case .wakeAt(let time?): loop.arm(self, at: time &* 1_000_000)
      case .wakeAt(nil): loop.disarm(self)
      case .finish(let end): finish(end)
      }
    }
  }

  private func listen(_ place: RedirectURI.Listener) {
    do throws(LoopbackListener.Failure) {
      let listener = try LoopbackListener(place, on: loop) { [weak self] connection, request in
        self?.take(.callback(connection: connection, request))
      }
      self.listener = listener
      later(.listening(port: listener.port))
    } catch { later(.cannotListen(error.text)) }
  }

  /// As the machine's actions are performed one after the other, a result comes after them.
  private func later(_ input: LoginInput) {
    let confined = Confined(self)
    loop.executor.call { _ in confined.runner.take(input) }
  }

  private func inLane(_ work: @escaping @Sendable (any LoginStore) -> LoginInput?) {
    let (store, executor, confined) = (store, loop.executor, Confined(self))
    let isQueued = Lane.files.run {
      let input = work(store)
      executor.call { _ in if let input { confined.runner.take(input) } }
    }
    if !isQueued { later(.storeFailed("too much waits for the disk")) }
  }

  /// Carries the runner through other threads, none of which uses it.
  // SAFETY: `runner` is read on its own loop only, and never written after it was made.
  private final class Confined: @unchecked Sendable {
    let runner: LoginRunner
    init(_ runner: LoginRunner) { self.runner = runner }
  }

  private func finish(_ end: LoginEnd) {
    self.end = end
    for cancel in transfers.values { cancel() }
    transfers = [:]
    listener?.stop()
    leaveAt = now + Int64(Self.farewell)
    leave()
  }

  /// Ends when the browser has its answer.
  private func leave() {
    guard let end else { return }
    guard listener?.isIdle ?? true || now >= leaveAt else { return loop.arm(self, afterMilliseconds: Self.look) }
    listener = nil
    ended(end, machine)
  }
}
