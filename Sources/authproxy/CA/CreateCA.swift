import ArgumentParser
import CSystem
import ConfigurationFile
import Crypto
import Files
import Interception
import Settings
import TLS

struct CreateCA: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "create",
    abstract: "Make a CA that can sign for certain hosts only.",
    discussion: """
      Writes three files: issuer.pem (the issuer, then its root) and issuer.key for the proxy, ca.pem (the root) for apps. They permit \
      the hosts of the configuration's https:// matches, the names of its TLS listeners, and each --permit. A name stands for itself \
      and all names below it. The root's key is never written. Nothing is overwritten: exit status 73 where a file is there.
      """)

  @Option(name: .long, help: "The configuration file. The CAs that it names need not exist yet.", completion: .file())
  var config: String?

  @Option(name: .long, help: ArgumentHelp("A host, *.host or address to permit as well; may be repeated.", valueName: "name"))
  var permit: [String] = []

  @Option(
    name: .long, help: ArgumentHelp("The folder for the files; made if it is missing.", valueName: "folder"),
    completion: .directory)
  var out = "ca"

  @Option(name: .long, help: ArgumentHelp("How long the CA is valid, in days.", valueName: "days"))
  var days = LocalAuthority.standardDays

  @Option(name: .long, help: ArgumentHelp("What the subjects of the certificates begin with.", valueName: "text"))
  var name = LocalAuthority.standardName

  func validate() throws {
    guard (1...36_500).contains(days) else { throw ValidationError("--days must be from 1 to 36500") }
    guard !name.isEmpty, name.utf8.count <= LocalAuthority.longestName,
      name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
    else { throw ValidationError("--name must have 1 to \(LocalAuthority.longestName) bytes, and no control characters") }
  }

  func run() throws {
    let names = try permittedNames()
    let authority: LocalAuthority
    do {
      authority = try LocalAuthority.create(
        for: names.map(\.host), name: name, days: days, now: csys_wall_clock() / 1_000_000_000)
    } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.internalError
    }
    let files = AuthorityFiles(number: 1)
    do {
      let folder = try Folder(out, makes: true)
      if folder.isWritableByOthers {
        Terminal.error("authproxy: warning: \(out): other users may put files into this folder, and so replace the CA")
      }
      try files.write(authority, to: folder)
    } catch let error as FileError {
      Terminal.error("authproxy: \(out): \(error)")
      throw ExitStatus.cannotCreate
    } catch {
      Terminal.error("authproxy: \(out)/\(error)")
      throw ExitStatus.cannotCreate
    }
    page(files, authority).print()
  }

  /// Each once: a wildcard's base permits what is below it.
  private func permittedNames() throws -> [SignedName] {
    var names: [SignedName] = []
    var exact: Set<PeerName> = []
    if let config {
      let loaded = ConfigurationFile.load(path: config, environment: Environment.current, makesAuthorities: true)
      for error in loaded.errors { Terminal.error("\(error)") }
      guard let settings = loaded.settings else { throw ExitStatus.badConfiguration }
      names = settings.signedNames
      exact = Set(names.filter { !$0.isWildcard }.map(\.host))
    }
    for text in permit { names.append(try Self.parse(text)) }
    guard !names.isEmpty else {
      throw ValidationError(
        "there is no name to permit: " + (config == nil ? "say --config or --permit" : "no match says https://"))
    }
    for name in names where name.isUnbounded(isExact: exact.contains(name.host)) {
      throw ValidationError("'\(name.text)' is a whole top-level domain: a CA for it could sign for every host below it")
    }
    var seen: Set<PeerName> = []
    return names.filter { seen.insert($0.host).inserted }
  }

  private static func parse(_ text: String) throws -> SignedName {
    if IPAddress.parse(text) != nil { return SignedName(host: text) }
    do {
      let isWildcard = text.hasPrefix("*.")
      let host = try HostName.normalized(isWildcard ? String(text.dropFirst(2)) : text)
      if isWildcard, IPAddress.parse(host) != nil { throw HostError("has a '*' before an address") }
      return SignedName(host: host, isWildcard: isWildcard)
    } catch { throw ValidationError("--permit '\(text)' \(error)") }
  }

  private func page(_ files: AuthorityFiles, _ authority: LocalAuthority) -> Page {
    var page = Page(labelWidth: 14)
    page.heading("made a CA")
    page.row("\(out)/\(files.certificates)", "the issuer and its root, for 'certificate'")
    page.row("\(out)/\(files.key)", "the issuer's key, for 'key': whoever has it can be each host below")
    page.row("\(out)/\(files.root)", "the root, which apps are to trust")
    page.row("root SHA-256", Describing.fingerprint(authority.root.fingerprint))
    page.row("valid until", Days.date(authority.root.notAfter))
    page.row("permits", Describing.permitted(authority.issuer.nameConstraints))
    page.heading("next")
    page.row(
      "1.",
      "name both files in the configuration, at the end of the list if there is one; relative paths start at its folder: "
        + "intercept: {ca: [{certificate: \(out)/\(files.certificates), key: {file: \(out)/\(files.key)}}]}")
    page.row("2.", "let apps trust the root: say 'publish' and 'authproxy ca env', or install \(out)/\(files.root) yourself")
    return page
  }
}
