import EventIO
import Foundation
import RedisClient
import RedisProtocol
import Testing

/// A cluster of two nodes, each with half of the slots.
@Suite(.enabled(if: RedisServerProcess.isInstalled, "redis-server is not installed"), .timeLimit(.minutes(2)))
struct RedisClusterTests {
  private let ports: [UInt16]
  private let nodes: [RedisServerProcess]

  init() throws {
    let ports = try (0..<2).map { _ in try RedisServerProcess.freePort() }
    let nodes = try ports.map { port in
      try RedisServerProcess(
        [
          "port \(port)", "cluster-enabled yes", "cluster-port \(try RedisServerProcess.freePort())",
          "cluster-node-timeout 2000", TestStore.user,
        ])
    }
    (self.ports, self.nodes) = (ports, nodes)
    _ = try nodes[0].command("CLUSTER", "ADDSLOTSRANGE", "0", "8191")
    _ = try nodes[1].command("CLUSTER", "ADDSLOTSRANGE", "8192", "16383")
    let bus = try nodes[1].command("CONFIG", "GET", "cluster-port").split(separator: "\n").last ?? ""
    _ = try nodes[0].command("CLUSTER", "MEET", "127.0.0.1", "\(ports[1])", String(bus))
    for node in nodes {
      #expect(try eventually(seconds: 30) { try node.command("CLUSTER", "INFO").contains("cluster_state:ok") })
    }
  }

  @Test func `records on both nodes are read, written and announced over one connection each`() throws {
    let store = TestStore(.tcp(host: "127.0.0.1", port: ports[0]))
    let other = TestStore(.tcp(host: "127.0.0.1", port: ports[1]))
    #expect(store.connected()?.mode == .cluster)
    #expect(other.connected()?.mode == .cluster)
    for number in 0..<20 {
      let key = "authproxy:\(number)"
      #expect(store.swap(nil, [1], key: key).isSwapped)
      #expect(other.swap([1], [2], key: key).isSwapped)
      #expect(try store.read(key).get().record == [2])
      #expect(other.await { $0 == .changed(key: Array(key.utf8)) } != nil)
    }
    let sizes = try nodes.map { Int(try $0.command("DBSIZE").trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0 }
    #expect(sizes.reduce(0, +) == 20 && !sizes.contains(0), "\(sizes)")
    for node in nodes {
      let clients = try node.command("CLIENT", "LIST").split(separator: "\n").count { $0.contains("name=authproxy") }
      #expect(clients == 2)
    }
  }

  @Test func `a slot that moves is followed`() throws {
    let store = TestStore(.tcp(host: "127.0.0.1", port: ports[0]))
    let key = "authproxy:0"
    #expect(store.swap(nil, [1], key: key).isSwapped)
    let slot = try nodes[0].command("CLUSTER", "KEYSLOT", key).trimmingCharacters(in: .whitespacesAndNewlines)
    let source = (Int(slot) ?? 0) < 8192 ? 0 : 1
    let ids = try nodes.map { try $0.command("CLUSTER", "MYID").trimmingCharacters(in: .whitespacesAndNewlines) }
    let target = 1 - source
    _ = try nodes[target].command("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[source])
    _ = try nodes[source].command("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
    // The record is at the source still, and then at the target, with the slot's owner unchanged: ASK.
    #expect(try store.read(key).get().record == [1])
    let moved = try nodes[source].command("MIGRATE", "127.0.0.1", "\(ports[target])", key, "0", "5000")
    #expect(moved.contains("OK"), "\(moved)")
    #expect(try store.read(key).get().record == [1])
    #expect(store.swap([1], [2], key: key).isSwapped)
    for node in [target, source] { _ = try nodes[node].command("CLUSTER", "SETSLOT", slot, "NODE", ids[target]) }
    #expect(try store.read(key).get().record == [2])
    #expect(store.swap([2], [3], key: key).isSwapped)
    #expect(try nodes[target].command("CLUSTER", "COUNTKEYSINSLOT", slot) == "1\n")
  }

  @Test func `a cluster has one database`() throws {
    let store = TestStore(.tcp(host: "127.0.0.1", port: ports[0])) { $0.database = 1 }
    guard case .refused(let refusal)? = store.lost() else {
      Issue.record("it was selected")
      return
    }
    #expect(refusal.kind == .databaseUnknown)
  }
}
