import CSystem
import Settings

/// Checks periodically whether the configuration's files have changed and which helper programs are due. Pure, except that
/// `look` reads files.
struct Watch {
  /// Nanoseconds; nil = off.
  private var interval: Int64?
  private var files: [WatchedFile] = []
  private var unreadable: Set<String> = []
  private var programs: [(program: HelperProgram, due: Int64)] = []
  private var nextLook: Int64 = .max

  struct Findings {
    var changed: [String] = []
    /// Newly unreadable; each reported once.
    var unreadable: [String] = []
    var due: Set<HelperProgram> = []
    var isEmpty: Bool { changed.isEmpty && due.isEmpty }
  }

  /// Takes over the files of this reading, also of a failed one, so that a broken file is reported only once.
  mutating func follow(_ loaded: LoadedConfiguration, interval milliseconds: Int?, now: Int64) {
    interval = milliseconds.map { Int64($0) * 1_000_000 }
    files = (loaded.configurationFile.map { [$0] } ?? []) + loaded.watched + loaded.systemRootsFiles
    unreadable.formIntersection(files.map(\.path))
    var known: [HelperProgram: Int64] = [:]
    for (program, due) in programs { known[program] = due }
    programs = Set(loaded.refreshedPrograms.map(\.program)).map { program in
      (program, known[program] ?? now + Int64(program.refresh ?? 0) * 1_000_000)
    }
    nextLook = interval.map { now + $0 } ?? .max
  }

  /// Time of the next check in nanoseconds of the monotonic clock; nil = never.
  var next: Int64? {
    let due = min(nextLook, programs.map(\.due).min() ?? .max)
    return due == .max ? nil : due
  }

  /// Blocks on the file system.
  mutating func look(now: Int64, through system: SystemAccess) -> Findings {
    var findings = Findings()
    if now >= nextLook, let interval {
      nextLook = now + interval
      for index in files.indices {
        switch files[index].look(through: system) {
        case .same(let file):
          files[index] = file
          unreadable.remove(file.path)
        case .changed:
          findings.changed.append(files[index].path)
          unreadable.remove(files[index].path)
        case .unreadable(let reason):
          if unreadable.insert(files[index].path).inserted { findings.unreadable.append("\(files[index].path): \(reason)") }
        }
      }
    }
    for index in programs.indices where programs[index].due <= now {
      findings.due.insert(programs[index].program)
      programs[index].due = now + Int64(programs[index].program.refresh ?? 0) * 1_000_000
    }
    return findings
  }
}
