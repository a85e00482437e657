import ArgumentParser
import ConfigurationFile
import Credentials
import EventIO
import JSON
import Trust

struct TokensCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tokens",
    abstract: "Show who is logged in, from the token store. Prints no secret.",
    discussion: """
      Works beside a running proxy. With a store that a fleet shares also who refreshes a token, and what keeps it from being refreshed. \
      --clear also replaces a record that cannot be read with the configured keys, and keeps it under another name. \
      Exit status: 0 done, 64 usage, 69 the store cannot be read, 78 configuration.
      """)

  @Option(name: .long, help: "The configuration file.", completion: .file())
  var config: String

  @Argument(help: "One credential alone.", completion: .credential(for: nil))
  var name: String?

  @Flag(name: .long, help: "One JSON object.")
  var json = false

  @Option(
    name: .long,
    help: "Make all proxies forget the back-off of this credential, and that it needs an operator; its tokens stay.",
    completion: .credential(for: nil))
  var clear: String?

  func run() throws {
    if let fleet = try fleet() {
      if let clear { return try fleet.clear(clear) }
      return try show(try fleet.rows(of: name))
    }
    try StoreFolder.becomeOwner(config: config)
    let list: CredentialList
    do throws(CredentialLookupError) {
      list = try ConfigurationFile.readCredentialList(path: config, environment: Environment.current)
    } catch {
      Terminal.error("\(error)")
      if case .usage = error { throw ExitStatus.usage }
      throw ExitStatus.badConfiguration
    }
    for warning in list.warnings { Terminal.error("\(warning)") }
    if let clear { return try self.clear(clear, list) }
    var rows: [TokenRow]
    do throws(TokenStoreFailure) { rows = TokenRow.all(list, try records(list)) } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
    if let name { rows = rows.filter { $0.name == name } }
    try show(rows)
  }

  /// nil: the store is not shared.
  private func fleet() throws -> FleetTokens? {
    do throws(CredentialLookupError) {
      return try ConfigurationFile.readFleet(path: config, environment: Environment.current).map {
        FleetTokens($0, config: config)
      }
    } catch {
      Terminal.error("\(error)")
      throw ExitStatus.badConfiguration
    }
  }

  /// In the token file.
  private func clear(_ name: String, _ list: CredentialList) throws {
    guard list.entries.contains(where: { $0.name == name && $0.isStored }),
      case .file(let path, let key) = list.tokenStore, let store = try? FileTokenStore(path: path, key: key)
    else {
      Terminal.error("authproxy: there is no credential '\(name)' in \(config) whose tokens are stored")
      throw ExitStatus.usage
    }
    do throws(TokenStoreFailure) {
      switch try store.clear(name, at: wallClockSeconds()) {
      case .nothing: Terminal.error("there was nothing to clear of \(name)")
      case .cleared: Terminal.error("cleared \(name): the proxies try again with the tokens that they have")
      case .setAside:
        Terminal.error(
          """
          the record of \(name) could not be read with this key: the token store has kept it aside
          the proxies begin without it: with a token that they have, else with the configured refresh_token or a login
          """)
      }
    } catch {
      Terminal.error("authproxy: \(name): \(error)")
      throw ExitStatus.cannotBind
    }
  }

  private func show(_ rows: [TokenRow]) throws {
    if let name {
      guard !rows.isEmpty else {
        Terminal.error("authproxy: there is no credential '\(name)' in \(config), and no record of one in its token store")
        throw ExitStatus.usage
      }
    }
    if json {
      Terminal.print(
        String(decoding: JSONValue.object([.init(name: "credentials", value: .array(rows.map(\.json)))]).text, as: UTF8.self))
    } else {
      for row in rows { row.page.print() }
    }
  }

  private func records(_ list: CredentialList) throws(TokenStoreFailure) -> [StoredRecord] {
    guard case .file(let path, let key) = list.tokenStore else { return [] }
    guard let store = try? FileTokenStore(path: path, key: key) else { return [] }
    return try store.records()
  }
}

/// What is told of one credential.
struct TokenRow {
  let name: String
  /// nil: the configuration does not have the credential.
  let grant: String?
  let state: String
  private let record: TokenRecord?
  private var fleet: FleetRow?

  /// Those of the configuration, in its order; then records without a credential.
  static func all(_ list: CredentialList, _ records: [StoredRecord]) -> [TokenRow] {
    let known = Set(list.entries.map(\.name))
    let configured = list.entries.map { entry in
      TokenRow(entry, records.first { $0.name == entry.name }?.content)
    }
    return configured + records.filter { !known.contains($0.name) }.map { TokenRow(orphan: $0) }
  }

  private init(_ entry: CredentialList.Entry, _ content: StoredRecord.Content?) {
    name = entry.name
    grant = entry.grant ?? "none"
    guard entry.isStored else {
      (state, record) = ("not stored", nil)
      return
    }
    state = LoginStanding(content, binding: entry.binding).rawValue
    record = Self.record(content)
  }

  /// Of a store that a fleet shares.
  init(name: String, grant: String?, state: String, record: TokenRecord?, fleet: FleetRow?) {
    self.name = name
    self.grant = grant ?? "none"
    self.state = state
    self.record = record
    self.fleet = fleet
  }

  private init(orphan: StoredRecord) {
    (name, grant) = (orphan.name, nil)
    state = "no such credential"
    record = Self.record(orphan.content)
  }

  private static func record(_ content: StoredRecord.Content?) -> TokenRecord? {
    if case .record(let record) = content { record } else { nil }
  }

  var page: Page {
    var page = Page(labelWidth: 18)
    page.heading(LogText.bounded(name))
    page.row("grant", grant ?? "not in this configuration")
    page.row("state", state)
    fleet?.append(to: &page)
    guard let record else { return page }
    if let login = record.login {
      page.row("logged in", UTCTime.text(login.loggedInAt))
      if let person = login.person ?? login.subject { page.row("account", LogText.bounded(person)) }
      if let scope = login.scope { page.row("scope", LogText.bounded(scope)) }
      if let end = login.expiresAt { page.row("login ends", UTCTime.text(end)) }
    }
    if record.accessToken != nil { page.row("token ends", UTCTime.text(record.expiresAt)) }
    page.row("refresh token", record.refreshToken == nil ? "no" : "yes")
    if let error = record.lastError { page.row("last error", "\(LogText.bounded(error.text)), \(UTCTime.text(error.at))") }
    return page
  }

  var json: JSONValue {
    var members: [JSONValue.Member] = [
      .init(name: "name", value: .string(name)), .init(name: "state", value: .string(state)),
    ]
    func add(_ name: String, _ value: JSONValue?) { if let value { members.append(.init(name: name, value: value)) } }
    add("grant", grant.map { .string($0) })
    members += fleet?.members ?? []
    guard let record else { return .object(members) }
    add("logged_in_at", record.login.map { .integer($0.loggedInAt) })
    add("login_expires_at", record.login?.expiresAt.map { .integer($0) })
    add("expires_at", record.accessToken == nil ? nil : .integer(record.expiresAt))
    add("refresh_token", .bool(record.refreshToken != nil))
    add("subject", record.login?.subject.map { .string($0) })
    add("scope", record.login?.scope.map { .string($0) })
    add("last_error", record.lastError.map { .string($0.text) })
    add("last_error_at", record.lastError.map { .integer($0.at) })
    return .object(members)
  }
}
