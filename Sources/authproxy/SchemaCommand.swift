import ArgumentParser
import ConfigurationFile

struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print a JSON Schema of the configuration, by which editors complete and check it.",
    discussion: """
      It has every key with its type, default and meaning (draft 2020-12). Save it beside the configuration, and begin that with \
      the line `# yaml-language-server: $schema=proxy.schema.json`. `check` also finds what a schema cannot know.
      """)

  func run() { Terminal.print(String(decoding: LanguageSchema.make(version: AuthProxy.version).indented, as: UTF8.self)) }
}
