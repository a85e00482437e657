/// What `login` prints beside the URL.
struct LoginHints {
  let name: String
  let options: LoginOptions
  let listener: RedirectURI.Listener?
  let port: UInt16?
  /// The server also takes `--device`.
  let hasDevice: Bool

  /// The URL comes before the browser starts, so that it is there if the browser does not appear.
  func actions(url: String, lifetime: Int64?) -> [LoginAction] {
    var actions: [LoginAction] = [.note("To log in to \(name), open this URL in a browser:"), .print(url)]
    if let lifetime { actions.append(.note("The URL is valid for \(DurationText.of(lifetime)).")) }
    switch options.browser {
    case .start(let program): actions.append(.openBrowser(program: program, url: url))
    case .none(let isRemote):
      guard isRemote, let listener, let port else { break }
      let host = listener.host == .ipv6 ? listener.host.rawValue : "127.0.0.1"
      let tunnel = "ssh -L \(port):\(host):\(port) HOST"
      actions.append(.note("If the browser is on another machine, first run there, with this machine as HOST: \(tunnel)"))
      if hasDevice { actions.append(.note("Or run this command with --device.")) }
    }
    if listener == nil {
      actions.append(.note("Then paste the URL at which the browser ended, and press Enter:"))
    } else if options.readsLines {
      actions.append(.note("If the browser ends at a page that it cannot open, paste its URL here and press Enter."))
    }
    return actions
  }
}
