import Crypto
import Files
import Glibc
import Synchronization

/// Keeps records in one file, by default of mode 0600. If the process is killed at any moment, the file has the old content or the new one.
///
/// Uses two kinds of locks, flock on separate files, as a flock ends with its process. A lock per credential is held from
/// before a refresh until its result is on disk, so that processes take turns. One lock for the file is held while it is read
/// and rewritten.
public final class FileTokenStore: TokenStore {
  public enum Problem: Error, Sendable, Hashable {
    /// AES-256 keys are 32 bytes.
    case badKey
  }

  /// Bytes. A larger file is not a token file.
  static let maximumFile = 16_777_216
  /// Milliseconds to wait while another process reads and rewrites the file.
  static let fileLockWait = 5_000
  /// Milliseconds that a command waits for a refresh to end.
  private static let clearWait: Int64 = 30_000

  private let path: String
  private let key: Secret?
  /// What the last look read, so that a change costs one reading, however many credentials look at it.
  private let looked = Mutex<(mark: TokenStoreMark, file: TokenFile?)?>(nil)
  /// Descriptors of the held locks.
  private let held = Mutex<[String: Int32]>([:])

  public init(path: String, key: Secret? = nil) throws(Problem) {
    if let key, key.bytes.count != AESGCM.keySize { throw .badKey }
    self.path = path
    self.key = key
  }

  public var isShared: Bool { true }

  deinit {
    held.withLock { held in
      for descriptor in held.values { close(descriptor) }
    }
  }

  public func perform(_ request: TokenStoreRequest, for credential: String) -> TokenStoreAnswer {
    do throws(SystemFailure) {
      switch request {
      case .read: return try lock(credential)
      case .confirm: return try confirm(credential)
      case .claim(let record):
        // The lock, which is held already, is the claim.
        let answer = try write(record, for: credential)
        return answer == .saved ? .claimed() : answer
      case .save(let record), .note(let record): return try write(record, for: credential)
      // A file that was deleted or restored is for its operator; the next refresh writes it.
      case .putBack: return .released
      case .release:
        release(credential)
        return .released
      case .look(let mark): return try look(credential, since: mark)
      }
    } catch {
      return .failed("\(path): \(error)")
    }
  }

  private func lock(_ credential: String) throws(SystemFailure) -> TokenStoreAnswer {
    guard held.withLock({ $0[credential] == nil }) else { return .busy() }
    guard let descriptor = try FileSystem.lock(lockPath(of: credential)) else { return .busy() }
    held.withLock { $0[credential] = descriptor }
    do throws(SystemFailure) {
      let answer = try exclusively { () throws(SystemFailure) -> TokenStoreAnswer in try read(credential) }
      if case .record = answer { return answer }
      release(credential)
      return answer
    } catch {
      release(credential)
      throw error
    }
  }

  private func confirm(_ credential: String) throws(SystemFailure) -> TokenStoreAnswer {
    guard held.withLock({ $0[credential] != nil }) else { return .failed("read without its lock") }
    return try exclusively { () throws(SystemFailure) -> TokenStoreAnswer in try read(credential) }
  }

  private func read(_ credential: String) throws(SystemFailure) -> TokenStoreAnswer {
    guard let text = try FileSystem.read(path, limit: Self.maximumFile) else { return .record(nil) }
    guard !text.isEmpty else { return .record(nil) }
    guard var file = TokenFile(text) else {
      try FileSystem.setAside(path)
      return .record(nil, setAside: true)
    }
    switch file.record(of: credential, key: key) {
    case .record(let record): return .record(record)
    case .wrongKey: return .wrongKey
    case .absent:
      if file.salvaged { try FileSystem.replace(path, with: file.text) }
      return .record(nil, setAside: file.salvaged)
    case .damaged:
      file.setAsideRecord(of: credential)
      try FileSystem.replace(path, with: file.text)
      return .record(nil, setAside: true)
    }
  }

  /// Without any lock, as the file is replaced as a whole. Leaves damage to the next process with a lock.
  private func look(_ credential: String, since mark: TokenStoreMark?) throws(SystemFailure) -> TokenStoreAnswer {
    let present = TokenStoreMark(FileReading.identity(path))
    if present == mark { return .unchanged }
    let found: (mark: TokenStoreMark, file: TokenFile?)
    if let known = looked.withLock({ $0 }), known.mark == present { found = known } else { found = try readAgain() }
    let seen = found.mark
    switch found.file?.record(of: credential, key: key) {
    case .record(let record): return .seen(record, seen)
    case .wrongKey: return .wrongKey
    case nil, .absent, .damaged: return .seen(nil, seen)
    }
  }

  private func readAgain() throws(SystemFailure) -> (mark: TokenStoreMark, file: TokenFile?) {
    let content = try FileSystem.content(path, limit: Self.maximumFile)
    // The mark of what was read: the file may have changed since it was looked at.
    let found = (mark: TokenStoreMark(content?.identity), file: content.flatMap { TokenFile($0.bytes) })
    looked.withLock { $0 = found }
    return found
  }

  /// All records, in the file's order, read without a lock.
  public func records() throws(TokenStoreFailure) -> [StoredRecord] {
    let text: [UInt8]?
    do throws(SystemFailure) { text = try FileSystem.read(path, limit: Self.maximumFile) } catch {
      throw TokenStoreFailure("\(path): \(error)")
    }
    guard let text, !text.isEmpty else { return [] }
    guard let file = TokenFile(text) else { throw TokenStoreFailure("\(path): not a token file") }
    return file.entries.map { StoredRecord(name: $0.name, file.record(of: $0.name, key: key)) }
  }

  /// What `clear` found, and did.
  public enum Clearance: Sendable, Hashable {
    case nothing
    case cleared
    /// The record could not be read: the store keeps it separately.
    case setAside
  }

  /// Forgets that the server has refused the record's token, and its back-off; the tokens stay. Blocks while a refresh is under way.
  /// - Parameter wall: Unix seconds.
  public func clear(_ credential: String, at wall: Int64) throws(TokenStoreFailure) -> Clearance {
    var left = Self.clearWait
    while true {
      do throws(SystemFailure) {
        if let descriptor = try FileSystem.lock(lockPath(of: credential)) {
          defer { close(descriptor) }
          return try exclusively { () throws(SystemFailure) -> Clearance in try cleared(credential, wall) }
        }
      } catch { throw TokenStoreFailure("\(path): \(error)") }
      guard left > 0 else { throw TokenStoreFailure("another process refreshes the token now: run the command again") }
      usleep(useconds_t(lockPause * 1_000))
      left -= lockPause
    }
  }

  private func cleared(_ credential: String, _ wall: Int64) throws(SystemFailure) -> Clearance {
    guard let text = try FileSystem.read(path, limit: Self.maximumFile), !text.isEmpty else { return .nothing }
    guard var file = TokenFile(text) else {
      try FileSystem.setAside(path)
      return .setAside
    }
    switch file.record(of: credential, key: key) {
    case .absent: return .nothing
    case .record(var record):
      guard record.backOff != nil || record.lastError.map({ !$0.isClearance }) == true else { return .nothing }
      record.backOff = nil
      record.lastError = .clearance(at: wall)
      do throws(OpenSSLError) { try file.put(record, for: credential, key: key) } catch {
        throw SystemFailure(text: error.message)
      }
      try FileSystem.replace(path, with: file.text)
      return .cleared
    case .damaged, .wrongKey:
      file.setAsideRecord(of: credential)
      try FileSystem.replace(path, with: file.text)
      return .setAside
    }
  }

  private func write(_ record: TokenRecord, for credential: String) throws(SystemFailure) -> TokenStoreAnswer {
    guard held.withLock({ $0[credential] != nil }) else { return .failed("written without its lock") }
    return try exclusively { () throws(SystemFailure) -> TokenStoreAnswer in
      var file = TokenFile()
      if let text = try FileSystem.read(path, limit: Self.maximumFile), !text.isEmpty {
        if let found = TokenFile(text) { file = found } else { try FileSystem.setAside(path) }
      }
      do throws(OpenSSLError) { try file.put(record, for: credential, key: key) } catch { return .failed(error.message) }
      try FileSystem.replace(path, with: file.text)
      return .saved
    }
  }

  private func release(_ credential: String) {
    if let descriptor = held.withLock({ $0.removeValue(forKey: credential) }) { close(descriptor) }
  }

  private func exclusively<Result>(_ work: () throws(SystemFailure) -> Result) throws(SystemFailure) -> Result {
    let descriptor = try FileSystem.lock(path + ".lock", within: Self.fileLockWait)
    defer { close(descriptor) }
    return try work()
  }

  /// The operator chooses names. A digest replaces a name that could leave the folder or be too long for a file name.
  private func lockPath(of credential: String) -> String {
    let plain = credential.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x5f: true
      default: false
      }
    }
    if plain, !credential.isEmpty, credential.utf8.count <= 64 { return "\(path).\(credential).lock" }
    let digest = Base64.encodeURL(SHA256.digest(Array(credential.utf8)))
    return "\(path).=\(String(decoding: digest, as: UTF8.self)).lock"
  }
}

extension TokenStoreMark {
  /// - Parameter identity: nil if there is no file.
  init(_ identity: FileIdentity?) {
    guard let identity else {
      values = []
      return
    }
    values = [
      Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size, identity.modified,
    ]
  }
}
