import ArgumentParser

struct CA: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ca", abstract: "Make, show and hand out the CAs that sign for https:// matches.",
    subcommands: [CreateCA.self, ShowCA.self, CAEnvironment.self])
}
