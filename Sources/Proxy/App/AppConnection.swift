import EventIO
import HTTP2
import HTTPWire
import Routing
import Streams
import TLS
import Upstreams

/// A connection from an app, as its requests know it: the stream, the blocks in transit, and what one request leaves for the
/// next. Lives on one loop.
class AppConnection: EventHandler {
  /// Lives as long as the process.
  final let loop: EventLoop
  /// The listener, with the settings of the current configuration.
  final var listener: BoundListener
  /// Who the app is for access, limits and logs: the other end of the connection, or whom its PROXY header names.
  final private(set) var peer: Address
  /// The other end, if its PROXY header names another address.
  final private(set) var sender: HeaderSender?
  final let stream: ByteStream
  /// Bytes read and not yet used.
  final var inbound: Block?
  /// Bytes on their way to the app before any body: interim heads (one block at most), a response head (one and a half times
  /// `limits.response_head`), or the proxy's own answer. At most one piece of the body joins them: a small one, an inflated one,
  /// or what `HeldAnswer` has copied (16 KiB and one block). The next piece is taken once this has been sent.
  final var outbound: Block?
  /// The upstream connections and the share that belong to it.
  final let holdings = ClientHoldings()
  /// The route of the last request. If the next target has equal bytes (memcmp), nothing is looked up.
  final var route = RouteMemo()
  /// The partition of the last request to an entry with a cache.
  final var partition: PartitionMemo?
  /// The client that the last Proxy-Authorization identified.
  final var access: AccessMemo?
  /// What the app showed in the handshake with a TLS listener.
  final var certificate: ClientCertificate?
  /// Of the present request; nil: its client may have any number of them.
  final var clientPlace: ClientPlace?
  /// After a CONNECT to a host that an entry matches: the authority of the requests that follow.
  final var connectedAuthority: ConnectedAuthority?

  /// Of the socket; requests that share a connection share it.
  final let descriptor: Int32

  init(_ descriptor: Int32, peer: Address, listener: BoundListener, on loop: EventLoop) {
    self.loop = loop
    self.listener = listener
    self.peer = peer
    self.descriptor = descriptor
    stream = ByteStream(descriptor: descriptor)
    super.init()
  }

  /// A request on the connection `root`.
  init(over layer: StreamLayer, of root: AppConnection) {
    loop = root.loop
    listener = root.listener
    peer = root.peer
    sender = root.sender
    descriptor = root.descriptor
    certificate = root.certificate
    connectedAuthority = root.connectedAuthority
    stream = ByteStream(over: layer)
    super.init()
  }

  /// Believes the other end that the connection is from this address. No request has begun.
  final func adoptAddress(_ address: Address) {
    sender = HeaderSender(peer)
    peer = address
  }

  /// Whether the listener still believes who named `peer`. A reload may have taken the sender out of `proxy_protocol`.
  final var isPeerBelieved: Bool {
    guard let sender else { return true }
    return listener.settings.proxyProtocol?.contains(sender.address.bytes) ?? false
  }

  // MARK: What a request tells its connection

  /// Whether the connection closes after this answer, which says so.
  var isClosing: Bool { false }
  /// It is one request of an app that speaks HTTP/2.
  var isStream: Bool { false }
  /// Takes what follows the body of an answer with a length, before its last byte is written: HTTP/1.1 has no place for it.
  /// - Parameter lines: each with CRLF.
  func take(trailers lines: [UInt8]) {}
  /// The origin can take trailers behind the body of a request with a length, which only HTTP/2 has.
  func awaitTrailers() {}
  /// Those trailers, once the body was read: lines with CRLF, and a blank one; empty: none.
  var trailersBehindLength: [UInt8] { [] }
  /// Names whose fields the app wants in no table of HPACK.
  var marked: IndexedNames { [] }
  /// The request was answered in full.
  /// - Parameter keepAlive: its message was read completely, and another one may follow.
  func requestEnded(keepAlive: Bool) {}
  /// - Parameter reset: closes with RST, so that the app does not take a cut body for complete.
  func close(reset: Bool = false) {}

  // MARK: What a handshake tells its connection

  /// Whether a handshake is in progress.
  var isHandshaking: Bool { false }
  /// It is this connection's turn to go on.
  func handshakeAdmitted() {}
  /// The certificate is there, or cannot be made.
  func handshakeResumed(isMade: Bool) {}

  // MARK: Blocks

  /// An empty block to read a body into.
  final func blockForBody() -> Block {
    if let block = inbound, block.capacity >= BlockPool.small {
      block.clearForBody()
      return block
    }
    let block = loop.blocks.borrow()
    block.clearForBody()
    inbound = block
    return block
  }

  final func giveBackEmptyBlock() {
    if inbound?.isEmpty == true, let block = inbound.take() { loop.blocks.giveBack(block) }
  }

  /// A request waits and reads nothing: gives the block back, or shrinks it to what is in it.
  final func park() {
    guard let block = inbound else { return }
    if block.isEmpty {
      inbound = nil
      loop.blocks.giveBack(block)
    } else if block.capacity >= BlockPool.small, block.count <= BlockPool.small / 4 {
      inbound = block.exactCopyForBody()
      loop.blocks.giveBack(block)
    }
  }

  /// The outbound block with room for `size` more bytes behind its content.
  final func outbound(with size: Int) -> Block {
    guard let block = outbound else {
      let block = size <= BlockPool.small ? loop.blocks.borrow() : Block(capacity: size)
      outbound = block
      return block
    }
    if size <= block.room { return block }
    let larger = Block(capacity: block.count + size)
    larger.append(block.bytes)
    loop.blocks.giveBack(block)
    outbound = larger
    return larger
  }

  final func giveBackOutbound() {
    if let block = outbound.take() { loop.blocks.giveBack(block) }
  }

  /// Sends the content of the outbound block.
  /// - Returns: how many bytes went out, and whether that was all.
  final func flush() -> Flush {
    var sent = 0
    while let block = outbound, !block.isEmpty {
      switch stream.write(block.bytes) {
      case .bytes(let count):
        sent += count
        block.consume(count)
      case .later: return .partly(sent)
      case .failed: return .failed(sent)
      }
    }
    giveBackOutbound()
    return .whole(sent)
  }

  enum Flush {
    case whole(Int)
    case partly(Int)
    /// The connection is broken.
    case failed(Int)
  }
}

/// The place of one request among those that its client may have at once. Free before the last bytes of the answer leave: an app that
/// has read them sends its next request over another connection, whose loop may be faster than this one.
final class ClientPlace {
  private let account: ClientAccount
  private var isTaken = true

  init(taken account: ClientAccount) { self.account = account }

  func leave() {
    if isTaken { account.end() }
    isTaken = false
  }

  /// The app takes no more bytes now, so the request has not ended. Others may have come meanwhile.
  func comeBack() {
    if !isTaken { _ = account.begin(upTo: nil) }
    isTaken = true
  }
}

/// A client's certificate, verified in the handshake, and who that is in the present configuration.
final class ClientCertificate {
  private let certificate: Certificate
  /// What it was verified with.
  private let anchors: ClientAnchors
  private var generation = -1
  private var identity: ClientIdentity?

  init(_ certificate: Certificate, under anchors: ClientAnchors) {
    self.certificate = certificate
    self.anchors = anchors
  }

  /// nil: no client's, it has expired since, or a reload has withdrawn its CA.
  func identity(generation: Int, _ find: (Certificate, ClientAnchors) -> ClientIdentity?) -> ClientIdentity? {
    if certificate.notAfter <= wallClockSeconds() { return nil }
    if self.generation != generation {
      self.generation = generation
      identity = find(certificate, anchors)
    }
    return identity
  }
}

/// The anchors of a listener when it verified a client's certificate, by their fingerprints.
struct ClientAnchors {
  let all: Set<[UInt8]>
  /// The one at the end of the chain; nil where a session was resumed.
  let used: [UInt8]?

  /// Whether a listener with these anchors would have verified the certificate, too.
  func isValid(under present: Set<[UInt8]>) -> Bool {
    if let used { return present.contains(used) }
    return all.isSubset(of: present)
  }
}

/// The client of a connection's last Proxy-Authorization. Equal bytes need no second check.
struct AccessMemo {
  var field: [UInt8]
  /// Of the snapshot. Its address would not do: another snapshot could have the same one by now.
  var generation: Int
  var identity: ClientIdentity
}
