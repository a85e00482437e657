import CFuzzer
import TLS

@_cdecl("ClientHelloFuzz_main")
public func start(_ argc: Int32, _ argv: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32 {
  fuzz_run(argc, argv) { bytes, count in
    check(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
  }
}

/// What follows the 200 of a CONNECT: the handshake asks for a certificate for the host that it is for, or it fails. No other name
/// ever comes through, and no protocol but ours.
private func check(_ bytes: UnsafeRawBufferPointer) {
  guard let context = try? TLSContext.accepting(AcceptingOptions()) else { preconditionFailure("no context") }
  let host = PeerName("api.example.com")
  // Nothing comes after these bytes: there is no descriptor.
  guard let connection = try? TLSConnection(context: context, accepting: -1, for: host, received: bytes) else {
    preconditionFailure("no connection")
  }
  switch connection.accept() {
  case .wantIdentity(let hello):
    if let name = hello.serverName { precondition(PeerName(name).isSameHost(as: host), name) }
    if let protocols = hello.protocols {
      precondition(protocols.contains(Array("http/1.1".utf8)) && !protocols.contains([]), "\(protocols)")
    }
    connection.refuse()
    guard case .failed = connection.accept() else { preconditionFailure("it was refused") }
  case .failed: break
  case .done, .wantRead, .wantWrite: preconditionFailure("nothing more can come")
  }
}
