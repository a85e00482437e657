import ArgumentParser

/// Exit statuses of the process (sysexits.h).
enum ExitStatus {
  static let usage = ExitCode(64)
  static let cannotBind = ExitCode(69)
  static let internalError = ExitCode(70)
  static let cannotCreate = ExitCode(73)
  static let badConfiguration = ExitCode(78)
}
