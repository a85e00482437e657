import CFuzzer
import ConfigurationFile
import Settings

@_cdecl("ConfigurationFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    return 0
  }
}

/// There are either settings or errors. Each diagnostic is one line and has a place inside the text. Reading again gives the
/// same result.
private func check(_ text: [UInt8]) {
  let loaded = read(text)
  precondition((loaded.settings == nil) != loaded.errors.isEmpty, "\(loaded.diagnostics)")
  let lines = text.reduce(1) { $1 == 0x0a || $1 == 0x0d ? $0 + 1 : $0 }
  for diagnostic in loaded.diagnostics {
    let line = diagnostic.description
    precondition(line.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7f }, line.debugDescription)
    // Unicode's line ends count as well, as for libyaml, for which the end of the text is on a line of its own.
    if let place = diagnostic.place { precondition(place.column >= 1 && 1...(lines + 1 + text.count / 2) ~= place.line, line) }
  }
  precondition(read(text).diagnostics.map(\.description) == loaded.diagnostics.map(\.description))
}

private func read(_ text: [UInt8]) -> LoadedConfiguration {
  ConfigurationFile.read(
    text: text, name: "proxy.conf", folder: "/etc/authproxy", environment: ["TOKEN": "x"], readableByOthers: true, system: .none
  )
}
