import Credentials
import Forwarding
import HTTPWire
import Settings
import Trust

/// What the proxy would do with a request, decided by the code that decides it on the loops, and why.
public struct Explanation: Sendable {
  public enum Outcome: Sendable {
    case forwarded(Forwarded)
    /// CONNECT to a host and port of these entries: no tunnel, clear HTTP follows. `tunnelsTLS`: a TLS handshake that comes instead is
    /// let through as a tunnel; else the connection is closed.
    case entriesThroughConnect(names: [String], tunnelsTLS: Bool)
    case tunnel
    /// The proxy answers by itself.
    case answered(status: Int, reason: String, text: String)
  }

  public struct Forwarded: Sendable {
    public var upstream: UpstreamSettings
    /// No entry matches: `unlisted_hosts: forward`.
    public var isUnlisted: Bool
    /// The request's own where the entry stands for many.
    public var origin: UpstreamSettings.Origin
    public var credential: CredentialPolicy?
    /// nil for http origins.
    public var trust: TrustPolicy?
    /// `forbidden_addresses` holds for what the name resolves to.
    public var checksAddresses: Bool
  }

  /// An entry that could be meant, and why it takes the request or does not.
  public struct Candidate: Sendable, Equatable {
    public var name: String
    public var isTaken: Bool
    public var reason: String
  }

  public var outcome: Outcome
  /// The entries for the target's host, most specific first.
  public var candidates: [Candidate] = []

  /// - Parameters:
  ///   - target: as an app sends it to a proxy: an absolute URL, or `host:port` for CONNECT.
  ///   - client: nil = no password and no known address.
  public static func of(method: String, target: String, client: ClientSettings?, in snapshot: Snapshot) -> Explanation {
    var explanation = Explanation(outcome: .tunnel)
    let request = Array("\(method) \(target) HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
    explanation.outcome = request.withUnsafeBytes { bytes in
      do throws(ProxyError) { return try explanation.decide(bytes, client, snapshot) } catch {
        return answered(error.answer(for: nil))
      }
    }
    return explanation
  }

  private static func answered(_ answer: OwnAnswer) -> Outcome {
    .answered(status: answer.status, reason: "\(answer.reason)", text: String(answer.body.drop { $0 == "\n" }))
  }

  private mutating func decide(
    _ bytes: UnsafeRawBufferPointer, _ client: ClientSettings?, _ snapshot: Snapshot
  ) throws(ProxyError) -> Outcome {
    var head = RequestHead()
    if case .invalid(let error) = head.parse(bytes, limit: snapshot.settings.limits.requestHead) { throw .malformed(error) }
    let target: RequestTarget
    do { target = try RequestTarget(of: head, in: bytes) } catch { throw .malformed(error) }
    // Those of a known address get in without a password; who they are, only --client can say.
    if client == nil, snapshot.settings.listeners.allSatisfy(\.clientsRequired) { throw .passwordRequired }
    let access = client.map { ClientIdentity($0) } ?? ClientIdentity(anonymousIn: snapshot.settings)
    let host = normalised(target.host.bytes(in: bytes))
    switch target.form {
    case .origin: throw .originForm
    case .asterisk: return Self.answered(.options)
    case .authority:
      guard let port = target.port else { throw .malformed(.port) }
      candidates = Self.neighbours(host, port, snapshot)
      switch try snapshot.wayOfConnect(host: host, port: port, for: access) {
      case .tunnel: return .tunnel
      case .entries(let route):
        let tunnels = (try? snapshot.checkTunnel(host: host, port: port, for: access)) != nil
        return .entriesThroughConnect(names: route.entries.map(\.name), tunnelsTLS: tunnels)
      }
    case .absolute:
      let port = target.effectivePort
      let route = snapshot.routes.find(host: host, port: port, isHTTPS: target.isHTTPS)
      if let route {
        let path = target.path.bytes(in: bytes)
        let taken = route.entry(forPath: path, client: access.name)
        var other: RouteTable.Host.OtherReading?
        if route.hasPrefixes, let isPlain = try? checkPath(target.path, in: bytes) {
          other = try? route.reading(of: path, notFor: taken, client: access.name, isPlain: isPlain)
        }
        candidates = Self.candidates(route.entries, taken: taken, path, client?.name, other: other)
      } else {
        candidates = Self.neighbours(host, port, snapshot)
      }
      let entry = try snapshot.entry(
        route, method: head.method, host: host, port: port, path: target.path, in: bytes, for: access)
      let origin = snapshot.origin(of: entry, host: host, port: port, isHTTPS: target.isHTTPS)
      return .forwarded(
        Forwarded(
          upstream: entry.settings, isUnlisted: entry.isUnlisted,
          origin: .init(scheme: origin.identity.scheme, host: origin.identity.host, port: origin.identity.port),
          credential: entry.credential.map { snapshot.credentials[$0].policy }, trust: origin.trust?.policy,
          checksAddresses: origin.identity.checksAddresses))
    }
  }

  private static func candidates(
    _ entries: [Entry], taken: Entry?, _ path: UnsafeRawBufferPointer, _ client: String?,
    other: RouteTable.Host.OtherReading?
  ) -> [Candidate] {
    entries.map { entry in
      let match = entry.settings.match
      if let other, entry === taken || entry === other.entry {
        let reading = entry === taken ? "as it is written" : "as an origin may read it, \(other.path)"
        return Candidate(name: entry.name, isTaken: false, reason: "is for the path \(reading)")
      }
      if entry === taken {
        var reasons = [match.isWildcard ? "the host is below \(match.host)" : "the host is the same"]
        if !match.pathPrefix.isEmpty { reasons.append("the path begins with \(match.pathPrefix)") }
        if entry.settings.clients != nil, let client { reasons.append("it is for \(client)") }
        return Candidate(name: entry.name, isTaken: true, reason: reasons.joined(separator: ", "))
      }
      let reason =
        if !RouteTable.Host.matches(path, prefix: match.pathPrefix) {
          "is for paths under \(match.pathPrefix)"
        } else if let clients = entry.settings.clients, client.map(clients.contains) != true {
          "is for \(clients.sorted().joined(separator: ", ")) only"
        } else {
          "is less specific"
        }
      return Candidate(name: entry.name, isTaken: false, reason: reason)
    }
  }

  /// Entries of the host for other ports: near misses worth a word.
  private static func neighbours(_ host: String, _ port: UInt16, _ snapshot: Snapshot) -> [Candidate] {
    var host = host
    return snapshot.entries.filter { entry in
      !entry.isUnlisted && host.withUTF8 { entry.settings.match.matches(host: UnsafeRawBufferPointer($0)) }
    }.filter { snapshot.routes.find(host: host, port: port, isHTTPS: false)?.entries.contains($0) != true }
      .map { entry in
        let ports = entry.settings.match.port.map { "port \($0)" } ?? "port 80, and 443 of https:// URLs"
        return Candidate(name: entry.name, isTaken: false, reason: "is for \(ports)")
      }
  }
}

extension [Entry] {
  fileprivate func contains(_ entry: Entry) -> Bool { contains { $0 === entry } }
}
