import Crypto
import Files
import TLS

/// Makes what `ca: {generate: ...}` and `ca: memory` lack.
public enum AuthoritySupply {
  public enum Failure: Error, Sendable, Hashable, CustomStringConvertible {
    case making(OpenSSLError)
    case folder(String, FileError)
    case file(String, AuthorityFiles.WriteError)
    case unfit(SigningCAError)
    /// The certificates of an authority that is in use, whose other files are there.
    case torn(file: String, authority: String)
    /// All files of the authority that signs for a name.
    case gone(folder: String, authority: String, name: String)

    public var description: String {
      switch self {
      case .making(let error): "no CA can be made: \(error)"
      case .folder(let path, let error): "\(path): \(error)"
      case .file(let path, let error): "\(path)/\(error)"
      case .unfit(let error): "the new CA \(error)"
      case .torn(let file, let authority):
        "\(file) is gone, the file of the CA in use \(authority): put it back, or remove its other files, too"
      case .gone(let folder, let authority, let name):
        "the files of the CA in use \(authority), which signs for \(name), are gone from \(folder): put them back; a restart makes "
          + "another CA, which apps do not know yet"
      }
    }
  }

  /// The authorities that are there; and one more at the end, if none of these permits a name. The old ones go on to sign for theirs.
  /// Blocks.
  /// - Parameters:
  ///   - groups: names that one authority must permit together.
  ///   - path: the folder that keeps the new one, behind all that are there; nil: it is in memory alone.
  ///   - now: seconds since 1970.
  public static func complete(
    _ authorities: SigningCAs, for names: [SignedName], together groups: [[PeerName]] = [], in path: String?, now: Int64
  ) throws(Failure) -> SigningCAs {
    guard authorities.lacks(names, together: groups, at: now) else { return authorities }
    guard let path else { return try make(after: authorities, names, groups, now).authorities }
    let folder: Folder
    do throws(FileError) { folder = try Folder(path, makes: true) } catch { throw .folder(path, error) }
    // Others hold it for milliseconds.
    folder.lock(within: 2_000)
    // Another process may have made one since the folder was read: with two, apps would be told of one and see the other.
    let present = SigningCAs(authorities.list + (try others(than: authorities, in: folder, now)))
    guard present.lacks(names, together: groups, at: now) else { return present }
    let (all, made) = try make(after: present, names, groups, now)
    try write(made, to: folder)
    return all
  }

  private static func make(
    after authorities: SigningCAs, _ names: [SignedName], _ groups: [[PeerName]], _ now: Int64
  ) throws(Failure) -> (authorities: SigningCAs, made: LocalAuthority) {
    var hosts = names.filter { authorities.signer(for: $0, at: now) == nil }.map(\.host)
    for group in groups where authorities.signer(forAll: group, at: now) == nil { hosts += group }
    var seen: Set<PeerName> = []
    hosts = hosts.filter { seen.insert($0).inserted }
    let made: LocalAuthority
    do throws(OpenSSLError) { made = try LocalAuthority.create(for: hosts, now: now) } catch { throw .making(error) }
    do throws(SigningCAError) { return (SigningCAs(authorities.list + [try SigningCA(made, now: now)]), made) } catch {
      throw .unfit(error)
    }
  }

  private static func others(
    than authorities: SigningCAs, in folder: Folder, _ now: Int64
  ) throws(Failure) -> [SigningCA] {
    let names: Set<String>
    do throws(FileError) { names = try folder.content().names } catch { throw .folder(folder.path, error) }
    return AuthorityFiles.all(among: names).compactMap { $0.read(in: folder, now: now) }
      .filter { !authorities.list.contains($0) }
  }

  private static func write(_ made: LocalAuthority, to folder: Folder) throws(Failure) {
    // Where the folder is not locked another process may take a number first.
    while true {
      let files: AuthorityFiles?
      do throws(FileError) { files = AuthorityFiles.next(after: AuthorityFiles.all(among: try folder.content().names)) } catch {
        throw .folder(folder.path, error)
      }
      guard let files else { throw .folder(folder.path, FileError("its last number is taken")) }
      do throws(AuthorityFiles.WriteError) { return try files.write(made, to: folder) } catch {
        guard error.problem == .exists else { throw .file(folder.path, error) }
      }
    }
  }

  /// Refuses to lose an authority that is in use because files went: apps know it, and would not know the one that takes its place.
  /// One whose files are all gone may go if others sign for its names: this is how an operator withdraws it. Blocks.
  /// - Parameters:
  ///   - used: what was read from the folder before, and made in it.
  ///   - found: what is in it now.
  public static func checkLoss(
    of used: SigningCAs, after found: SigningCAs, for names: [SignedName], in path: String, now: Int64
  ) throws(Failure) {
    let lost = used.list.filter { !$0.isExpired(at: now) && !found.list.contains($0) }
    guard !lost.isEmpty else { return }
    if let folder = try? Folder(path), let names = try? folder.content().names {
      for files in AuthorityFiles.all(among: names) {
        guard let authority = lost.first(where: { files.isRest(of: $0, in: folder) }) else { continue }
        throw .torn(file: "\(path)/\(files.certificates)", authority: authority.chain[0].subject)
      }
    }
    for name in names where found.signer(for: name, at: now) == nil {
      guard let signer = used.signer(for: name, at: now), lost.contains(signer) else { continue }
      throw .gone(folder: path, authority: signer.chain[0].subject, name: name.text)
    }
  }
}

extension SigningCAs {
  /// Whether there is a name, or a group of names for one leaf, that none of them may sign for now.
  /// - Parameter now: seconds since 1970.
  public func lacks(_ names: [SignedName], together groups: [[PeerName]] = [], at now: Int64) -> Bool {
    names.contains { signer(for: $0, at: now) == nil } || groups.contains { signer(forAll: $0, at: now) == nil }
  }
}
