import Crypto
import CSystem
import Credentials
import Files
import Foundation
import Settings
import Synchronization
import Testing

@testable import Operations

/// A file system and helper programs of the test.
private final class World: Sendable {
  struct State {
    var files: [String: String] = [:]
    var outputs: [String: String] = [:]
    var runs: [String] = []
  }
  let state = Mutex(State())

  subscript(path: String) -> String? {
    get { state.withLock { $0.files[path] } }
    set { state.withLock { $0.files[path] = newValue } }
  }

  var system: SystemAccess {
    SystemAccess(
      readFile: { (path: String, _: Int) throws(FileError) in
        guard let text = self[path] else { throw FileError("No such file or directory") }
        return FileContent(
          bytes: Array(text.utf8), identity: FileIdentity(device: 0, inode: 0, size: 0, modified: 0), permissions: 0o600)
      },
      run: { (program: HelperProgram) throws(SecretError) in
        let name = program.arguments[0]
        let output = self.state.withLock {
          $0.runs.append(name)
          return $0.outputs[name]
        }
        guard let output else { throw SecretError("exited with status 1") }
        return Array(output.utf8)
      })
  }

  func watched(_ path: String) -> WatchedFile {
    let text = self[path]
    return WatchedFile(
      path: path, identity: text.map { _ in FileIdentity(device: 0, inode: 0, size: 0, modified: 0) },
      digest: text.map { SHA256.digest(Array($0.utf8)) } ?? [])
  }
}

@Suite struct WatchTests {
  private let second: Int64 = 1_000_000_000

  private func watch(_ world: World, _ paths: [String], interval: Int? = 10_000) -> Watch {
    var watch = Watch()
    watch.follow(LoadedConfiguration(watched: paths.map(world.watched)), interval: interval, now: 0)
    return watch
  }

  @Test func `no file is checked before its time, and none if watching is off`() {
    let world = World()
    world["/a"] = "1"
    var on = watch(world, ["/a"])
    #expect(on.next == 10 * second)
    world["/a"] = "2"
    #expect(on.look(now: 9 * second, through: world.system).changed.isEmpty)
    #expect(on.look(now: 10 * second, through: world.system).changed == ["/a"])
    #expect(watch(world, ["/a"], interval: nil).next == nil)
  }

  @Test func `an unreadable file is reported once, and again after it was readable`() {
    let world = World()
    world["/a"] = "1"
    var watch = watch(world, ["/a"])
    world["/a"] = nil
    #expect(watch.look(now: 10 * second, through: world.system).unreadable.count == 1)
    #expect(watch.look(now: 20 * second, through: world.system).unreadable.isEmpty)
    world["/a"] = "1"
    #expect(watch.look(now: 30 * second, through: world.system).isEmpty)
    world["/a"] = nil
    #expect(watch.look(now: 40 * second, through: world.system).unreadable.count == 1)
  }

  @Test func `a file that comes is a change`() {
    let world = World()
    var watch = watch(world, ["/a"])
    #expect(watch.look(now: 10 * second, through: world.system).isEmpty)
    world["/a"] = "now"
    #expect(watch.look(now: 20 * second, through: world.system).changed == ["/a"])
  }

  @Test func `programs are due by their own refresh, and a reload between does not put them off`() {
    let program = HelperProgram(arguments: ["/bin/token"], environment: [], refresh: 30_000)
    let loaded = LoadedConfiguration(secretSources: ["credentials.a.bearer.token": .command(program)])
    var watch = Watch()
    watch.follow(loaded, interval: nil, now: 0)
    watch.follow(loaded, interval: nil, now: 20 * second)
    #expect(watch.next == 30 * second)
    #expect(watch.look(now: 29 * second, through: .none).due.isEmpty)
    #expect(watch.look(now: 30 * second, through: .none).due == [program])
    #expect(watch.next == 60 * second)
  }
}

@Suite struct ConfigurationSourceTests {
  private let program = HelperProgram(arguments: ["/bin/token"], environment: [])

  /// Reads one file and one program; has settings only if both succeed.
  private func source(_ world: World) -> ConfigurationSource {
    let program = program
    return ConfigurationSource(system: world.system) { system in
      do {
        let file = try system.readFile("/a", 100)
        let output = try system.run(program)
        let name = String(decoding: file.bytes + output, as: UTF8.self)
        return LoadedConfiguration(settings: Settings(name: name, listeners: []))
      } catch {
        return LoadedConfiguration(diagnostics: [
          Diagnostic(severity: .error, file: "/a", place: nil, message: "\(error)")
        ])
      }
    }
  }

  @Test func `on demand everything is read again, and an unreadable file is an error`() {
    let world = World()
    world["/a"] = "file"
    world.state.withLock { $0.outputs["/bin/token"] = "1" }
    let source = source(world)
    #expect(source.load(.demand).loaded.settings?.name == "file1")
    world.state.withLock { $0.outputs["/bin/token"] = "2" }
    #expect(source.load(.demand).loaded.settings?.name == "file2")
    world["/a"] = nil
    #expect(source.load(.demand).loaded.settings == nil)
  }

  @Test func `after a change a file that is gone from a folder is still named, on demand it is not`() {
    let names = Mutex<Set<String>>(["issuer.pem"])
    let system = SystemAccess(
      readFile: SystemAccess.none.readFile,
      readFolder: { (_: String) throws(FileError) in
        let names = names.withLock { $0 }
        if names.isEmpty { throw FileError("gone") }
        return FolderContent(names: names)
      }, run: SystemAccess.none.run)
    let source = ConfigurationSource(system: system) { system in
      let names = (try? system.readFolder("/ca").names.sorted()) ?? []
      return LoadedConfiguration(settings: Settings(name: names.joined(separator: " "), listeners: []))
    }
    #expect(source.load(.demand).loaded.settings?.name == "issuer.pem")
    names.withLock { $0 = ["issuer-2.pem"] }
    #expect(source.load(.change(due: [])).loaded.settings?.name == "issuer-2.pem issuer.pem")
    names.withLock { $0 = [] }
    let (loaded, stale) = source.load(.change(due: []))
    #expect(loaded.settings?.name == "issuer-2.pem issuer.pem" && stale == ["/ca: gone"])
    names.withLock { $0 = ["issuer-2.pem"] }
    #expect(source.load(.demand).loaded.settings?.name == "issuer-2.pem")
  }

  @Test func `after a change only due programs run again, and unreadable files keep their old content`() {
    let world = World()
    world["/a"] = "file"
    world.state.withLock { $0.outputs["/bin/token"] = "1" }
    let source = source(world)
    _ = source.load(.demand)
    world["/a"] = "new"
    world.state.withLock { $0.outputs["/bin/token"] = "2" }
    #expect(source.load(.change(due: [])).loaded.settings?.name == "new1")
    #expect(world.state.withLock { $0.runs.count } == 1)
    #expect(source.load(.change(due: [program])).loaded.settings?.name == "new2")
    world["/a"] = nil
    world.state.withLock { $0.outputs["/bin/token"] = nil }
    let (loaded, stale) = source.load(.change(due: [program]))
    #expect(loaded.settings?.name == "new2")
    #expect(stale.count == 2, "\(stale)")
    #expect(source.load(.demand).loaded.settings == nil)
  }
}
