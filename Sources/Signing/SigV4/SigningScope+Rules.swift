import Credentials

/// A policy's service and region, as bytes.
public struct ScopeRules: Sendable {
  enum Rule: Sendable {
    case auto
    case oneOf([[UInt8]])
    case named([UInt8])

    init(_ scope: SigV4Policy.Scope) {
      self =
        switch scope {
        case .auto: .auto
        case .oneOf(let names): .oneOf(names.map { Array($0.utf8) })
        case .named(let name): .named(Array(name.utf8))
        }
    }
  }

  public enum Problem: Error, Sendable, Hashable {
    /// Neither the policy, the app's signature nor the host tells.
    case unknownService, unknownRegion
    /// It is outside of the policy's list.
    case serviceNotListed([UInt8])
    case regionNotListed([UInt8])
    /// It gives or takes keys, and the policy does not name it.
    case serviceNotNamed([UInt8])
  }

  private let service: Rule
  private let region: Rule
  private let defaultRegion: [UInt8]?

  public init(_ policy: SigV4Policy) {
    service = Rule(policy.service)
    region = Rule(policy.region)
    defaultRegion = policy.defaultRegion.map { Array($0.utf8) }
  }

  /// What a request is signed for.
  /// - Parameters:
  ///   - app: of the app's own signature, which has both; nil: it has none.
  ///   - host: the value of Host.
  public func scope(app: SigningScope?, host: UnsafeRawBufferPointer) throws(Problem) -> SigningScope {
    // Also beside the app's signature: AWS compares it with the service that was reached, but need not be the one who prevents it.
    let ofHost = AWSHost(host)
    let service: [UInt8]
    switch self.service {
    case .named(let name): service = name
    case .auto:
      guard let found = app?.service ?? ofHost?.service else { throw .unknownService }
      for name in [found, ofHost?.service] { if let name, KeyServices.contains(name) { throw .serviceNotNamed(name) } }
      service = found
    case .oneOf(let names):
      guard let found = app?.service ?? ofHost?.service else { throw .unknownService }
      guard names.contains(found) else { throw .serviceNotListed(found) }
      if let name = ofHost?.service, KeyServices.contains(name), !names.contains(name) { throw .serviceNotNamed(name) }
      service = found
    }
    switch region {
    case .named(let name): return SigningScope(service: service, region: name)
    case .auto:
      guard let found = app?.region ?? ofHost?.region ?? defaultRegion else { throw .unknownRegion }
      return SigningScope(service: service, region: found)
    case .oneOf(let names):
      guard let found = app?.region ?? ofHost?.region ?? defaultRegion else { throw .unknownRegion }
      guard names.contains(found) else { throw .regionNotListed(found) }
      return SigningScope(service: service, region: found)
    }
  }
}

/// Services whose answers hold keys, or that decide whose keys are worth what. An app that could reach them with signed requests could
/// make keys of its own out of the proxy's.
enum KeyServices {
  private static let names: Set<[UInt8]> = Set(
    [
      "account", "account-access", "awsssooidc", "awsssoportal", "codepipeline", "cognito-identity", "datazone", "deadline",
      "eks-auth", "gamelift", "iam", "identitystore",
      "lakeformation",
      "lightsail", "organizations", "rolesanywhere", "signin", "sso", "sso-directory", "sso-oauth", "sts",
    ].map { Array($0.utf8) })

  static func contains(_ service: [UInt8]) -> Bool { names.contains(service.map { $0 &- 0x41 < 26 ? $0 | 0x20 : $0 }) }
}
