/// Whether `login` starts a browser, and which program.
public enum BrowserChoice: Sendable, Hashable {
  case start(program: String)
  /// `isRemote`: there is no screen here, so a browser elsewhere needs a way to the listener.
  case none(isRemote: Bool)

  /// - Parameters:
  ///   - forbidden: `--no-browser`, or a process that runs as root.
  ///   - environment: our own variables.
  public init(forbidden: Bool, environment: [String: String]) {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let isRemote = value("SSH_CONNECTION") != nil || (value("DISPLAY") == nil && value("WAYLAND_DISPLAY") == nil)
    if forbidden {
      self = .none(isRemote: isRemote)
    } else if let program = value("BROWSER") {
      self = .start(program: program)
    } else if isRemote {
      // xdg-open would start a text browser, which takes over the terminal.
      self = .none(isRemote: true)
    } else {
      self = .start(program: "xdg-open")
    }
  }
}
