import Foundation

/// A shell that completes command lines of authproxy by the script that the program prints.
struct Completion {
  /// Has `proxy.conf`.
  let folder: String
  private let shell: String

  /// Credentials of several kinds. Reading their secrets would leave a file `ran`, or fail.
  static let configuration = """
    listen: nowhere
    unknown: 1
    credentials:
      calendar: {oauth2: {grant: authorization_code, issuer: https://login.test, client_id: c, client_secret: {command: [/bin/touch, ran]}}}
      mailbox: {oauth2: {grant: device_code, issuer: https://login.test, client_id: c, client_secret: 5ecret-in-clear}}
      stored: {oauth2: {grant: refresh_token, token_url: https://login.test/t, client_id: c, refresh_token: {file: missing}}}
      service: {oauth2: {grant: client_credentials, token_url: https://login.test/t, client_id: c, client_secret: {env: MISSING}}}
      static: {bearer: {token: 5ecret-token}}
    """

  init(_ shell: String, _ configuration: String = Self.configuration) throws {
    self.shell = shell
    folder = try Surroundings.newFolder()
    try ProxyProcess.write(configuration, to: folder + "/proxy.conf")
    let made = try ChildProcess.run(Surroundings.program, ["--generate-completion-script", shell])
    guard made.status == .exited(0) else { throw HarnessError("completion script: \(made.errors)") }
    try ProxyProcess.write(made.output, to: folder + "/script")
  }

  /// `authproxy` is on the PATH, as after an installation.
  private var environment: [String: String] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    let own = URL(fileURLWithPath: Surroundings.program).deletingLastPathComponent().path
    return ["PATH": "\(own):\(path)", "HOME": folder, "LC_ALL": "C.UTF-8"]
  }

  /// What the lines become by Tab, in a terminal.
  func complete(_ lines: [String]) throws -> [String] {
    let done = try ChildProcess.run(
      Surroundings.python, [Surroundings.support + "/complete.py", shell, folder + "/script"] + lines, environment: environment,
      folder: folder)
    guard done.status == .exited(0) else { throw HarnessError("\(shell): \(done.errors)\(done.output)") }
    return done.output.split(separator: "\n").map(String.init)
  }

  /// All candidates for a line, from a program in the shell's own language.
  func candidates(_ program: String, _ line: String) throws -> [String] {
    let done = try ChildProcess.run(shell, ["-c", program, folder + "/script", line], environment: environment, folder: folder)
    guard done.status == .exited(0), done.errors.isEmpty else {
      throw HarnessError("\(shell): \(done.status) \(done.errors)\(done.output)")
    }
    return done.output.split(separator: "\n").map(String.init)
  }

  /// What bash offers: it calls the function with these variables.
  func bash(_ line: String) throws -> [String] {
    try candidates(
      """
      source "$0"
      COMP_LINE=$1 COMP_POINT=${#1}
      read -ra COMP_WORDS <<< "$1"
      [[ $1 == *' ' ]] && COMP_WORDS+=('')
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      _authproxy authproxy "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
      printf '%s\\n' "${COMPREPLY[@]}"
      """, line)
  }
}
