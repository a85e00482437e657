import ConfigurationFile
import Credentials
import JSON
import Proxy
import Settings
import Trust

/// The records of a configuration's credentials in a store that a fleet shares.
struct FleetTokens {
  private let fleet: FleetCredentials
  private let config: String

  init(_ fleet: FleetCredentials, config: String) {
    self.fleet = fleet
    self.config = config
    for warning in fleet.warnings { Terminal.error("\(warning)") }
  }

  /// - Parameter name: nil: all credentials.
  func rows(of name: String?) throws -> [TokenRow] {
    try fleet.entries.filter { name == nil || $0.name == name }.map { entry in
      guard entry.grant != nil else {
        return TokenRow(name: entry.name, grant: nil, state: "not stored", record: nil, fleet: nil)
      }
      guard let policy = entry.policy else {
        for diagnostic in entry.diagnostics { Terminal.error("\(diagnostic)") }
        return TokenRow(name: entry.name, grant: entry.grant, state: "unreadable in \(config)", record: nil, fleet: nil)
      }
      guard policy.tokens?.sharing != nil else {
        return TokenRow(name: entry.name, grant: entry.grant, state: "not shared", record: nil, fleet: nil)
      }
      return try row(of: entry, policy)
    }
  }

  private func row(of entry: FleetCredentials.Entry, _ policy: CredentialPolicy) throws -> TokenRow {
    let access = try access(to: entry.name)
    guard let store = access.fleetStore else { throw ExitStatus.internalError }
    do throws(StoreFailure) {
      let (content, clock) = try store.read()
      let record: TokenRecord? = if case .record(let record)? = content { record } else { nil }
      return TokenRow(
        name: entry.name, grant: entry.grant, state: state(of: content, policy), record: record,
        fleet: FleetRow(
          name: access.recordName ?? "", record: record, clock: clock, key: fleet.store.seal.fingerprint,
          repair: repair(of: content, entry.name, policy)))
    } catch {
      Terminal.error("authproxy: \(error)")
      throw ExitStatus.cannotBind
    }
  }

  private func state(of content: StoredRecord.Content?, _ policy: CredentialPolicy) -> String {
    switch content {
    case nil: "never"
    case .damaged?: "damaged"
    case .wrongKey?: LoginStanding.wrongKey.rawValue
    case .record(let record)? where policy.tokens?.login == nil && record.tombstone == nil:
      record.lastError?.isFinal == true ? LoginStanding.refused.rawValue : "stored"
    case .record?: LoginStanding(content, binding: policy.tokens?.sharing).rawValue
    }
  }

  /// The command that repairs a record which cannot be read; nil: it can, or there is none.
  private func repair(of content: StoredRecord.Content?, _ name: String, _ policy: CredentialPolicy) -> String? {
    switch content {
    case nil, .record?: nil
    case .damaged?, .wrongKey?: "authproxy \(policy.tokens?.login == nil ? "tokens --clear" : "login") \(name)"
    }
  }

  func clear(_ name: String) throws {
    guard let entry = fleet.entries.first(where: { $0.name == name }), entry.grant != nil else {
      Terminal.error("authproxy: there is no oauth2 credential '\(name)' in \(config)")
      throw ExitStatus.usage
    }
    guard let policy = entry.policy else {
      for diagnostic in entry.diagnostics { Terminal.error("\(diagnostic)") }
      throw ExitStatus.badConfiguration
    }
    guard policy.tokens?.sharing != nil, let store = try access(to: name).fleetStore else {
      Terminal.error("authproxy: the tokens of '\(name)' are not shared")
      throw ExitStatus.usage
    }
    do throws(StoreFailure) {
      switch try store.clear() {
      case .nothing: Terminal.error("there was nothing to clear of \(name)")
      case .cleared: Terminal.error("cleared \(name): the fleet tries again with the tokens that it has")
      case .replaced(let kept):
        Terminal.error(
          """
          the record of \(name) could not be read with these keys: it is kept as \(kept)
          the fleet begins without it: a running proxy that has its token puts that back, else \(Self.beginning(of: policy))
          """)
      }
    } catch {
      Terminal.error("authproxy: \(name): \(error)")
      throw ExitStatus.cannotBind
    }
  }

  /// How a fleet without a record gets its first token.
  private static func beginning(of policy: CredentialPolicy) -> String {
    if case .refreshToken? = policy.tokens?.grant { return "the configured refresh_token is used" }
    return "the next request gets a new one"
  }

  private func access(to name: String) throws -> EndpointAccess {
    do throws(SnapshotBuilder.LoadError) { return try EndpointAccess(to: name, in: fleet.settings, sources: [:]) } catch {
      Terminal.error("\(config): error: \(error)")
      throw ExitStatus.badConfiguration
    }
  }
}

/// What a record in a fleet's store says beside its login. No token, and no digest of one.
struct FleetRow {
  /// Where, and under which name.
  let name: String
  let record: TokenRecord?
  /// Unix seconds by the store's clock.
  let clock: Int64
  /// Fingerprint of the key that this configuration writes with.
  let key: String
  /// A command.
  let repair: String?

  /// Unix seconds, of the token; nil: there is none.
  private var issued: Int64? { record.flatMap { $0.accessToken == nil ? nil : $0.expiresAt - $0.lifetime } }

  func append(to page: inout Page) {
    page.row("record", name)
    page.row("key", key)
    if let repair { page.row("to repair it", "\"\(LogText.bounded(repair))\", which keeps what is there under another name") }
    guard let record else { return }
    page.row("generation", "\(record.generation)")
    if let issued { page.row("token age", Units.text(duration: Int(clamping: max(0, clock - issued) * 1_000))) }
    if let claim = record.claim {
      page.row("claimed", "by \(LogText.bounded(claim.holder)), since \(UTCTime.text(claim.since))")
    }
    if let backOff = record.backOff, backOff.until / 1_000 > clock {
      page.row("back-off", "until \(UTCTime.text(backOff.until / 1_000)): \(LogText.bounded(backOff.text))")
    }
    if record.lastError?.isFinal == true {
      page.row("needs operator", "yes: \"authproxy tokens --clear\" makes the fleet try again")
    }
  }

  var members: [JSONValue.Member] {
    var members: [JSONValue.Member] = [
      .init(name: "record", value: .string(name)), .init(name: "key_fingerprint", value: .string(key)),
    ]
    guard let record else { return members }
    members.append(.init(name: "generation", value: .integer(record.generation)))
    if let issued { members.append(.init(name: "issued_at", value: .integer(issued))) }
    if let claim = record.claim {
      members.append(.init(name: "claim", value: ["holder": .string(claim.holder), "since": .integer(claim.since)]))
    }
    if let backOff = record.backOff { members.append(.init(name: "back_off_until", value: .integer(backOff.until / 1_000))) }
    members.append(.init(name: "needs_operator", value: .bool(record.lastError?.isFinal == true)))
    return members
  }
}
