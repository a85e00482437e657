/// What a login asks of its owner, who performs the actions in order. Each may take any time; its result is a later input.
public enum LoginAction: Sendable, Hashable {
  /// Send this under the credential's trust policy, within its `timeout`, on a new connection, without following redirects
  /// and without repeating it. Then `LoginInput.answer` with the same id. If it awaits the client's assertion, read and add it
  /// first, and hide it in the answer.
  case fetch(id: UInt64, TokenHTTPRequest)
  /// Drop this fetch; its answer no longer matters.
  case cancelFetch(id: UInt64)
  /// Bind these addresses only, then `listening` or `cannotListen`. The listener ends with `finish`.
  case listen(RedirectURI.Listener)
  /// A line of standard output. Programs read it: it is a URL or a user code alone.
  case print(String)
  /// A line of standard error.
  case note(String)
  /// Start this program with the URL as its only argument. If it fails to start: `browserFailed`.
  case openBrowser(program: String, url: String)
  /// Answer the request with this id, and close its connection. Each request is answered once, unless `finish` comes first.
  case answerBrowser(connection: UInt64, BrowserPage)
  /// Take the credential's lock in the store and read its record: `storeOpened` or `storeFailed`.
  case openStore
  /// Write the login durably with the next generation, then release the lock: `stored` or `storeFailed`.
  case store(CompletedLogin)
  /// Release the lock and change nothing. Its result does not matter.
  case closeStore
  /// Send `timer` at this monotonic time in milliseconds, which replaces the one before; nil: never.
  case wakeAt(Int64?)
  /// Print the text to standard error and exit. It comes once; after it the machine has no more actions.
  case finish(LoginEnd)
}

/// What happened.
public enum LoginInput: Sendable, Hashable {
  case answer(fetch: UInt64, EndpointAnswer)
  /// With the port that was bound.
  case listening(port: UInt16)
  /// The text says why, with address and port.
  case cannotListen(String)
  /// A complete head of an HTTP request to the listener. Answer broken heads with `BrowserPage.notThisLogin`.
  case callback(connection: UInt64, CallbackRequest)
  /// A line of standard input, without its line break. It may contain the code.
  case pasted(Secret)
  /// The text says why.
  case browserFailed(String)
  /// `subject`: of a record that belongs to this configuration; nil without one, or if it has none.
  case storeOpened(subject: String?)
  case stored
  /// Nothing changed in the store. The text contains no secret.
  case storeFailed(String)
  case timer
}

/// How the person wants to log in.
public struct LoginOptions: Sendable, Hashable {
  /// Milliseconds from the start until the person must have answered.
  public var timeout: Int64
  public var browser: BrowserChoice
  /// The owner passes lines of standard input as `pasted`.
  public var readsLines: Bool
  /// `--other-account`.
  public var otherAccount: Bool

  public init(
    timeout: Int64 = 600_000, browser: BrowserChoice = .none(isRemote: false), readsLines: Bool = false,
    otherAccount: Bool = false
  ) {
    self.timeout = timeout
    self.browser = browser
    self.readsLines = readsLines
    self.otherAccount = otherAccount
  }
}
