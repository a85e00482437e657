/// S3-FIFO (Yang and others, SOSP 2023), by bytes: new answers wait in a small queue, a tenth of the store; those that were used there go
/// to the main one, the others leave their fingerprints as ghosts. An answer that comes again while its ghost is there goes to the main
/// queue at once. So a scan passes through the small queue and moves nothing else.
struct EvictionQueues {
  private struct Node {
    var answer: StoredAnswer?
    /// Towards older and newer nodes; -1: none.
    var older = -1
    var newer = -1
    var isMain = false
  }

  private struct Queue {
    var oldest = -1
    var newest = -1
    var bytes = 0
  }

  private var nodes: [Node] = []
  private var free: [Int] = []
  /// The small one and the main one.
  private var queues = [Queue(), Queue()]
  private var small: Queue { queues[0] }
  private var main: Queue { queues[1] }
  private var ghosts = GhostTable()
  private(set) var count = 0

  /// Bytes in both queues.
  var bytes: Int { small.bytes + main.bytes }

  /// - Parameter replaced: an answer that it replaces, whose rank it takes.
  mutating func insert(_ answer: StoredAnswer, replacing replaced: StoredAnswer?) {
    let index = free.popLast() ?? nodes.count
    if index == nodes.count { nodes.append(Node(answer: answer)) } else { nodes[index] = Node(answer: answer) }
    answer.node.store(index, ordering: .relaxed)
    count += 1
    var isKnown = ghosts.remove(answer.fingerprint)
    if let replaced {
      answer.set(useCount: replaced.useCount)
      let old = replaced.node.load(ordering: .relaxed)
      if old >= 0, nodes[old].answer === replaced, nodes[old].isMain { isKnown = true }
    }
    push(index, isMain: isKnown)
  }

  /// - Returns: whether it was there.
  @discardableResult
  mutating func remove(_ answer: StoredAnswer) -> Bool {
    let index = answer.node.load(ordering: .relaxed)
    guard index >= 0, nodes[index].answer === answer else { return false }
    release(index)
    return true
  }

  /// Takes out the answers that are worth least.
  /// - Parameters:
  ///   - wanted: bytes of what goes, as far as there is so much.
  ///   - limit: bytes of the whole store.
  ///   - patience: how many answers in use it may pass over; then one in use goes. With everything in use it could go round three times.
  ///   - victims: gets them, marked as gone: who drops answers finds them here as long as anybody is served with them. The lock is held for
  ///     as many as it has room for.
  mutating func evict(_ wanted: Int, limit: Int, patience: inout Int, into victims: inout [StoredAnswer]) {
    prefetch(min(victims.capacity, wanted / StoredAnswer.least + 1), limit: limit)
    var left = wanted
    while count > 0, left > 0, victims.count < victims.capacity {
      let isMain = evictsMain(limit)
      let index = isMain ? main.oldest : small.oldest
      guard let answer = nodes[index].answer else { return }
      let uses = patience > 0 ? answer.useCount : 0
      if uses == 0 {
        release(index)
        // Somebody else is about to take it out.
        guard answer.markGone() else { continue }
        if !isMain { ghosts.insert(answer.fingerprint, limit: min(count, limit / StoredAnswer.least)) }
        left -= answer.size
        victims.append(answer)
        continue
      }
      patience -= 1
      unlink(index)
      answer.set(useCount: isMain ? uses - 1 : 0)
      push(index, isMain: true)
    }
  }

  private func evictsMain(_ limit: Int) -> Bool { small.oldest < 0 || small.bytes <= limit / 10 && main.oldest >= 0 }

  /// Nobody has touched the oldest answers for a while: their memory is asked for all at once, not one after the other.
  private func prefetch(_ count: Int, limit: Int) {
    var index = evictsMain(limit) ? main.oldest : small.oldest
    var left = count
    while index >= 0, left > 0 {
      nodes[index].answer?.prefetch()
      index = nodes[index].newer
      left -= 1
    }
  }

  /// Answers in some of the nodes, to look at outside of the lock.
  /// - Returns: the next start; nil: these were the last.
  func collect(from start: Int, _ limit: Int, into answers: inout [StoredAnswer]) -> Int? {
    let end = min(nodes.count, start + limit)
    var index = start
    while index < end {
      if let answer = nodes[index].answer { answers.append(answer) }
      index += 1
    }
    return end < nodes.count ? end : nil
  }

  private mutating func release(_ index: Int) {
    unlink(index)
    nodes[index].answer?.node.store(-1, ordering: .relaxed)
    nodes[index].answer = nil
    free.append(index)
    count -= 1
    // After a purge: nodes at the end without an answer go.
    if count == 0 {
      nodes = []
      free = []
      ghosts = GhostTable()
    }
  }

  private mutating func push(_ index: Int, isMain: Bool) {
    let queue = isMain ? 1 : 0
    nodes[index].older = queues[queue].newest
    nodes[index].newer = -1
    nodes[index].isMain = isMain
    if queues[queue].newest >= 0 { nodes[queues[queue].newest].newer = index } else { queues[queue].oldest = index }
    queues[queue].newest = index
    queues[queue].bytes += nodes[index].answer?.size ?? 0
  }

  private mutating func unlink(_ index: Int) {
    let node = nodes[index]
    let queue = node.isMain ? 1 : 0
    if node.older >= 0 { nodes[node.older].newer = node.newer } else { queues[queue].oldest = node.newer }
    if node.newer >= 0 { nodes[node.newer].older = node.older } else { queues[queue].newest = node.older }
    queues[queue].bytes -= node.answer?.size ?? 0
  }
}
