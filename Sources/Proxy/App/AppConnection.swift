import EventIO
import HTTPWire
import Routing
import Streams
import Upstreams

/// A connection from an app, as far as a request that came over it may know it: the stream, the blocks on their way, and what one
/// request leaves for the next. Lives on one loop.
class AppConnection: EventHandler {
  /// Lives as long as the process.
  unowned(unsafe) let loop: EventLoop
  /// As the present configuration has it.
  final var listener: BoundListener
  final let peer: Address
  final let stream: ByteStream
  /// Bytes read and not yet used.
  final var inbound: Block?
  /// Bytes on their way to the app before any body: interim heads (one block at most), a response head (one and a half times
  /// `limits.response_head`), or an answer. At most one piece of the body joins them, a small or an inflated one: the next is taken
  /// when this has been sent.
  final var outbound: Block?
  /// What it has of upstream connections.
  final let holdings = ClientHoldings()
  /// Where the last request went: compared by memcmp before anything is looked up.
  final var route = RouteMemo()
  /// Who the last Proxy-Authorization said it was.
  final var access: AccessMemo?
  /// After `CONNECT host:80` to a host that an entry matches: the authority of the requests that follow.
  final var connectedAuthority: ConnectedAuthority?

  init(_ descriptor: Int32, peer: Address, listener: BoundListener, on loop: EventLoop) {
    self.loop = loop
    self.listener = listener
    self.peer = peer
    stream = ByteStream(descriptor: descriptor)
    super.init()
  }

  // MARK: What a request tells its connection

  /// The connection ends after this answer, which says so.
  var isClosing: Bool { false }
  /// The request has been answered in full; `keepAlive` says whether its message was read whole, and another may follow.
  func requestEnded(keepAlive: Bool) {}
  /// - Parameter reset: so that a cut body is not taken for whole.
  func close(reset: Bool = false) {}

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
    guard let block = inbound, block.isEmpty else { return }
    inbound = nil
    loop.blocks.giveBack(block)
  }

  /// A request waits and reads nothing: the block goes back, or shrinks to what is in it.
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

  /// The outbound block with room for `size` more bytes, behind what stands in it.
  final func outbound(with size: Int) -> Block {
    var block = outbound ?? loop.blocks.borrow()
    if size > block.room {
      let larger = Block(capacity: block.count + size)
      larger.append(block.bytes)
      loop.blocks.giveBack(block)
      block = larger
    }
    outbound = block
    return block
  }

  final func giveBackOutbound() {
    if let outbound { loop.blocks.giveBack(outbound) }
    outbound = nil
  }

  /// Sends what stands in the outbound block.
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

/// What the last Proxy-Authorization of a connection was found to be: the same bytes need no second look.
struct AccessMemo {
  var field: [UInt8]
  /// Of the snapshot: an address could be another snapshot's by now.
  var generation: Int
  var identity: ClientIdentity
}
