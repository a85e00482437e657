import CSystem
import Files
import Settings
import Synchronization

/// Reads the configuration, at start and for each reload. Caches file contents and program outputs. So a reload after a changed
/// file does not run every helper program, and a file that is temporarily unreadable keeps its old content.
public final class ConfigurationSource: Sendable {
  public typealias Reader = @Sendable (SystemAccess) -> LoadedConfiguration

  public enum Occasion: Sendable {
    /// The start or SIGHUP: reads everything again; an unreadable file is an error.
    case demand
    /// A file has changed, or these programs are due: an unreadable file keeps its old content.
    case change(due: Set<HelperProgram>)

    var isDemand: Bool { if case .demand = self { true } else { false } }
  }

  private struct Cache {
    var files: [String: FileContent] = [:]
    var folders: [String: FolderContent] = [:]
    var outputs: [HelperProgram: [UInt8]] = [:]
  }
  private struct Reading {
    var cache = Cache()
    var stale: [String] = []
  }

  /// Access to the files that the configuration names.
  let system: SystemAccess
  private let read: Reader
  private let cache = Mutex(Cache())

  /// - Parameter read: reads the configuration, with files and programs through its argument.
  public init(system: SystemAccess = .system, _ read: @escaping Reader) {
    self.read = read
    self.system = system
  }

  /// Blocks on files and programs.
  /// - Returns: the configuration, and a text with the reason for each file or program whose old content it uses.
  public func load(_ occasion: Occasion) -> (loaded: LoadedConfiguration, stale: [String]) {
    let known = cache.withLock { $0 }
    let reading = Mutex(Reading())
    let system = system
    @Sendable func file(_ path: String, _ read: () throws(FileError) -> FileContent) throws(FileError) -> FileContent {
      do throws(FileError) {
        let content = try read()
        reading.withLock { $0.cache.files[path] = content }
        return content
      } catch {
        guard case .change = occasion, let old = known.files[path] else { throw error }
        reading.withLock {
          $0.cache.files[path] = old
          $0.stale.append("\(path): \(error)")
        }
        return old
      }
    }
    let access = SystemAccess(
      readFile: { (path: String, limit: Int) throws(FileError) in
        try file(path) { () throws(FileError) in try system.readFile(path, limit) }
      },
      readFolder: { (path: String) throws(FileError) in
        let old: FolderContent? = if case .change = occasion { known.folders[path] } else { nil }
        do throws(FileError) {
          var content = try system.readFolder(path)
          // A file that is gone keeps its old content.
          if let old { content.names.formUnion(old.names) }
          let found = content
          reading.withLock { $0.cache.folders[path] = found }
          return found
        } catch {
          guard let old else { throw error }
          reading.withLock {
            $0.cache.folders[path] = old
            $0.stale.append("\(path): \(error)")
          }
          return old
        }
      },
      readInFolder: { (path: String, name: String, limit: Int) throws(FileError) in
        try file("\(path)/\(name)") { () throws(FileError) in try system.readInFolder(path, name, limit) }
      },
      run: { (program: HelperProgram) throws(SecretError) in
        if case .change(let due) = occasion, !due.contains(program), let old = known.outputs[program] {
          reading.withLock { $0.cache.outputs[program] = old }
          return old
        }
        do throws(SecretError) {
          let output = try system.run(program)
          reading.withLock { $0.cache.outputs[program] = output }
          return output
        } catch {
          guard case .change = occasion, let old = known.outputs[program] else { throw error }
          reading.withLock {
            $0.cache.outputs[program] = old
            $0.stale.append("\(program): \(error)")
          }
          return old
        }
      })
    let loaded = read(access)
    let result = reading.withLock { $0 }
    // A failed reading may have stopped half-way, so the older content stays in the cache.
    cache.withLock { cache in
      if loaded.settings != nil {
        cache = result.cache
      } else {
        cache.files.merge(result.cache.files) { $1 }
        cache.folders.merge(result.cache.folders) { $1 }
        cache.outputs.merge(result.cache.outputs) { $1 }
      }
    }
    return (loaded, result.stale)
  }
}
