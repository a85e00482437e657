import Foundation
import Testing

/// authproxy(1), which packaging/man.py makes of what the program says of itself.
@Suite struct ManualTests {
  /// A command in `--experimental-dump-help`.
  private struct Command: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable {
        let kind: String
        let name: String
        var written: String { (kind == "short" ? "-" : "--") + name }
      }
      let names: [Name]?
      let valueName: String
    }
    let commandName: String
    let arguments: [Argument]?
    let subcommands: [Command]?

    /// With the names of the commands above.
    func all(_ above: String = "") -> [(path: String, command: Command)] {
      let path = above + commandName
      return [(path, self)] + (subcommands ?? []).flatMap { $0.all(path + " ") }
    }
  }

  private struct Help: Decodable { let command: Command }

  private func page() throws -> String {
    let made = try ChildProcess.run(
      Surroundings.python, [Surroundings.root + "/packaging/man.py", Surroundings.program],
      environment: ["SOURCE_DATE_EPOCH": "1767225600"])
    guard made.status == .exited(0) else { throw HarnessError("man.py: \(made.errors)") }
    return made.output
  }

  /// As `man` shows it on a wide screen, without its emphasis.
  private func shown(_ page: String) throws -> ChildProcess.Finished {
    try ChildProcess.run("groff", ["-ww", "-man", "-Tutf8", "-P-cbou", "-rLL=2000n"], input: page)
  }

  @Test func `the page has every command with every option, and says what they do`() throws {
    let text = try shown(try page()).output.replacing("−", with: "-").replacing("‐", with: "-")
    let dumped = try ChildProcess.run(Surroundings.program, ["--experimental-dump-help"])
    let commands = try JSONDecoder().decode(Help.self, from: Data(dumped.output.utf8)).command.all()
    #expect(commands.count > 12)
    for (path, command) in commands where command.subcommands == nil {
      let section = text.components(separatedBy: "\n   \(path)\n").dropFirst().first?.components(separatedBy: "\n   authproxy")
        .first
      let found = try #require(section, "\(path) has no section")
      for argument in command.arguments ?? [] {
        let names = (argument.names ?? []).map(\.written)
        // Once for all commands.
        if names.contains("--help") || names.contains("--version") { continue }
        for name in names.isEmpty ? [argument.valueName] : names {
          // In the synopsis, and before its description.
          #expect(found.components(separatedBy: name).count > 2 || name.count == 2, "\(path): \(name)")
        }
      }
    }
    for section in [
      "NAME", "SYNOPSIS", "DESCRIPTION", "SIGNALS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
    ] {
      #expect(text.contains("\n\(section)\n"), "\(section)")
    }
    #expect(try page().contains(#".TH AUTHPROXY 1 2026-01-01 "authproxy "#))
  }

  @Test func `groff and man find nothing to warn of`() throws {
    let page = try page()
    let formatted = try shown(page)
    #expect(formatted.status == .exited(0) && formatted.errors.isEmpty, "\(formatted.errors)")
    let path = try Surroundings.newFolder() + "/authproxy.1"
    try ProxyProcess.write(page, to: path)
    if (try? ChildProcess.run("sh", ["-c", "command -v man"]))?.status == .exited(0) {
      let shown = try ChildProcess.run(
        "man", ["--warnings", "-E", "UTF-8", "-l", path],
        environment: ["LC_ALL": "C.UTF-8", "MANROFFSEQ": "", "MANWIDTH": "80"])
      #expect(shown.status == .exited(0) && shown.errors.isEmpty, "\(shown.errors)")
    }
  }

  @Test func `every status of the program is on the page`() throws {
    let source = try String(contentsOfFile: Surroundings.root + "/Sources/authproxy/ExitStatus.swift", encoding: .utf8)
    let page = try page()
    let statuses = source.matches(of: /ExitCode\((\d+)\)/).map { String($0.1) }
    #expect(statuses.count > 4)
    for status in statuses { #expect(page.contains("\n.B \(status)\n"), "\(status)") }
  }
}
