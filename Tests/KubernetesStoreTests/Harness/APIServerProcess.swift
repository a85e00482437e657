import Foundation
import JSON

/// Tests/Support/kubernetes_api.py in a process of its own. It ends with this object.
final class APIServerProcess: Sendable {
  struct Trouble: Error, CustomStringConvertible { let description: String }

  static let token = "t0ken-of-the-pod"

  let folder: String
  let port: Int
  private let process: Monitor<(Process, FileHandle, Lines)>

  /// - Parameters:
  ///   - data: of the Secret `tokens` in the namespace `apps`; nil: there is none.
  ///   - tls: files of certificate and key.
  init(_ data: [String: String]? = [:], tls: (certificate: String, key: String)? = nil) throws {
    var template = Array("/tmp/kubernetes-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Trouble(description: "no folder") }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    try Self.token.write(toFile: folder + "/token", atomically: true, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
      "../../Support/kubernetes_api.py")
    process.arguments = ["python3", script.path, folder + "/token"] + (tls.map { [$0.certificate, $0.key] } ?? [])
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let lines = Lines(output.fileHandleForReading)
    guard let port = try lines.next()["port"]?.integer else { throw Trouble(description: "no port") }
    self.port = Int(port)
    self.process = Monitor((process, input.fileHandleForWriting, lines))
    if let data {
      try self.do(["do": "put", "name": "tokens", "data": .object(data.map { .init(name: $0.key, value: .string($0.value)) })])
    }
  }

  deinit {
    process.change {
      $0.0.terminate()
      $0.0.waitUntilExit()
    }
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The state after a command.
  @discardableResult
  func `do`(_ command: JSONValue) throws -> JSONValue {
    try process.change {
      $0.1.write(Data(command.text + [10]))
      return try $0.2.next()
    }
  }

  func set(_ name: String, _ value: JSONValue) throws {
    try self.do(.object([.init(name: "do", value: .string("set")), .init(name: name, value: value)]))
  }

  var state: JSONValue { get throws { try self.do(["do": "state"]) } }

  /// How many requests of this kind were answered so: `patch 409`.
  func count(_ kind: String) throws -> Int { Int(try state["counts"]?[kind]?.integer ?? 0) }

  func entry(_ key: String) throws -> String? { try state["data"]?["tokens"]?[key]?.string }

  /// What kubelets do: another file has the name.
  func rotate(to token: String, onlyServer: Bool = false) throws {
    if !onlyServer { try token.write(toFile: folder + "/token", atomically: true, encoding: .utf8) }
    try self.do(["do": "token", "token": .string(token)])
  }
}

/// Lines of JSON from a pipe.
final class Lines {
  private let handle: FileHandle
  private var rest: [UInt8] = []
  init(_ handle: FileHandle) { self.handle = handle }

  func next() throws -> JSONValue {
    while true {
      if let end = rest.firstIndex(of: 10) {
        let line = Array(rest[..<end])
        rest.removeFirst(end + 1)
        return try JSONParser.parse(line)
      }
      let data = handle.availableData
      if data.isEmpty { throw APIServerProcess.Trouble(description: "the API server has ended") }
      rest += data
    }
  }
}
