import Credentials
import Files
import Settings
import WayOut

/// One credential, read alone.
public struct SingleCredential: Sendable {
  /// Always of kind `oauth2`.
  public var policy: CredentialPolicy
  public var oauth2: OAuth2Policy
  /// `settings` has this credential, the token store, the trust policy for its server, and the ways out with the credentials and
  /// policies of their parents; nothing else. Has the sources of secrets, and warnings.
  public var configuration: LoadedConfiguration
  public var settings: Settings
}

extension ConfigurationFile {
  /// Reads one credential with its own secrets, the token store's settings and the trust policy for its server. Nothing else is
  /// read, so that a login works where other secrets are not mounted, or while another part of the file has an error. Blocks
  /// on files and helper programs.
  /// - Parameters:
  ///   - name: nil: the only credential for this use.
  ///   - path: as given on the command line; errors begin with it.
  public static func readCredential(
    named name: String?, for use: CredentialUse, path: String, environment: [String: String], system: SystemAccess = .system
  ) throws(CredentialLookupError) -> SingleCredential {
    let peek = try Peek(path: path, environment: environment, system: system)
    // With a report of its own: mistakes of other credentials don't count here.
    let lookup = CredentialLookup(try peek.root(peek.reading(.none)), file: path)
    let entry = try lookup.entry(name, for: use)
    let reading = peek.reading(system)
    let root = try peek.root(reading)
    let names = reading.parentNames(root)
    let parents = parentReferences(root, names, peek)
    let trust = trust(for: entry, root, peek, also: parents.trust.union(storeTrust(peek)))
    let rules = TrustRules(policies: trust, allMustBeNamed: root.read(\.allHostsMustBeEvaluated))
    let store = reading.tokenStore(root, trust: rules)
    let section: Section<CredentialKeys>? = reading.section(entry.written)
    let policy = section.flatMap { reading.credential(entry.name.value, $0, trust: rules, tokenStore: store).policy }
    let ways = reading.sharedWays(root, names, credentials: parents.credentials, trust: rules, tokenStore: store)
    let credentials = ways.credentials.merging(policy.map { [$0.name: $0] } ?? [:]) { _, own in own }
    var settings = Settings(
      listeners: [], credentials: credentials, tokenStore: store ?? .memory, trust: trust.compactMapValues { $0 })
    settings.apply(ways.drafts)
    if policy != nil { settings.systemRoots = reading.systemRoots(for: settings) }
    guard !reading.report.hasErrors, let policy, case .oauth2(let oauth2) = policy.kind else {
      throw .configuration(reading.report.sorted)
    }
    let configuration = LoadedConfiguration(
      settings: settings, diagnostics: reading.report.sorted, watched: reading.watched,
      systemRootsFiles: reading.systemRootsFiles, secretSources: reading.secretSources)
    return SingleCredential(policy: policy, oauth2: oauth2, configuration: configuration, settings: settings)
  }

  /// The policy that applies to the credential's server. If it asks for revocation, also the one that applies to responders.
  private static func trust(
    for entry: CredentialLookup.Entry, _ root: Section<RootKeys>, _ peek: Peek, also others: Set<String>
  ) -> Reading.TrustPolicies {
    let standard = "default"
    let name = CredentialLookup.oauth2(of: entry, peek.reading(.none))?.read(\.trust)?.value ?? standard
    let names = others.union([name])
    let policies = root.reading.trust(root, only: names)
    guard names.contains(where: { policies[$0]??.checksRevocation == true }), !names.contains(standard) else { return policies }
    return root.reading.trust(root, only: names.union([standard]))
  }

  /// The policies that a fleet's token store may need.
  static func storeTrust(_ peek: Peek) -> Set<String> {
    guard let root = try? peek.root(peek.reading(.none)), case .section(let section)? = root.read(\.tokenStore) else {
      return []
    }
    let name = section.read(\.redis)?.read(\.trust) ?? section.read(\.kubernetes)?.read(\.trust)
    return section.has(\.redis) || section.has(\.kubernetes) ? [name?.value ?? "default"] : []
  }

  /// The credentials and policies of the parents that `via` and `routes` name: requests to the credential's server go through these.
  private static func parentReferences(
    _ root: Section<RootKeys>, _ names: Reading.ParentNames, _ peek: Peek
  ) -> (credentials: Set<String>, trust: Set<String>) {
    let reading = peek.reading(.none)
    guard let root = try? peek.root(reading) else { return ([], []) }
    let shared = [reading.via(root, \.ways.via, names)?.via].compactMap { $0 } + reading.routes(root, names).map(\.route.via)
    var used: Set<WayTable.Name> = []
    for case .ways(let names) in shared { used.formUnion(names) }
    var result: (credentials: Set<String>, trust: Set<String>) = ([], [])
    for (index, entry) in (root.read(\.ways.parents) ?? []).enumerated() where used.contains(.parent(index)) {
      guard let section = entry.value else { continue }
      if let name = section.read(\.credential) { result.credentials.insert(name.value) }
      if section.read(\.url)?.value.lowercased().hasPrefix("https:") == true {
        result.trust.insert(section.read(\.trust)?.value ?? "default")
      }
    }
    return result
  }
}

/// A configuration file of which a command reads only a part.
struct Peek {
  let path: String
  private let environment: [String: String]
  private let readableByOthers: Bool
  private let node: Node

  init(path: String, environment: [String: String], system: SystemAccess) throws(CredentialLookupError) {
    let content: FileContent
    do throws(FileError) { content = try system.readFile(path, NodeComposer.sizeLimit) } catch {
      throw .configuration([Diagnostic(severity: .error, file: path, place: nil, message: "cannot be read: \(error)")])
    }
    let report = Report(file: path)
    guard let node = NodeComposer.compose(content.bytes, report: report) else {
      let empty = Diagnostic(severity: .error, file: path, place: Place(line: 1, column: 1), message: "the file is empty")
      throw .configuration(report.hasErrors ? report.sorted : [empty])
    }
    self.path = path
    self.environment = environment
    self.node = node
    readableByOthers = content.permissions & 0o044 != 0
  }

  /// A new reading of the same text, with a report of its own.
  func reading(_ system: SystemAccess) -> Reading {
    Reading(
      report: Report(file: path), folder: ConfigurationFile.folder(of: path), environment: environment, system: system,
      readableByOthers: readableByOthers, now: ProcessState.now())
  }

  func root(_ reading: Reading) throws(CredentialLookupError) -> Section<RootKeys> {
    guard let root = reading.root(node, isPeek: true) else { throw .configuration(reading.report.sorted) }
    return root
  }
}
