import ArgumentParser
import CSystem
import Files
import Interception
import Settings
import TLS

struct ShowCA: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show CAs: subject, fingerprint, dates and permitted names; and who signs for which https:// match.")

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String?

  @Argument(
    help: ArgumentHelp("A PEM file of certificates, instead of a configuration.", valueName: "file"), completion: .file())
  var file: String?

  func validate() throws {
    guard (config == nil) != (file == nil) else { throw ValidationError("say either --config or a file") }
  }

  func run() throws {
    var page = Page(labelWidth: 14)
    if let file {
      let certificates: [Certificate]
      do { certificates = try Certificate.parse(pem: FileReading.read(file, limit: 16 << 20).bytes) } catch {
        throw ValidationError("\(file): \(error)")
      }
      for certificate in certificates { Describing.certificate(certificate, on: &page) }
    } else if let config {
      let loaded = loadConfiguration(config)
      for diagnostic in loaded.diagnostics { Terminal.error("\(diagnostic)") }
      guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
      guard let intercept = settings.intercept else { throw ValidationError("\(config) has no 'intercept', so there is no CA") }
      for certificate in intercept.authorities.list.flatMap(\.chain) { Describing.certificate(certificate, on: &page) }
      page.heading("who signs")
      let now = csys_wall_clock() / 1_000_000_000
      for name in settings.signedNames { page.row(name.text, Describing.signer(of: name, intercept, at: now)) }
    }
    page.print()
  }
}
