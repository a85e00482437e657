import RESP
import RedisProtocol
import Testing

/// Errors as servers of versions 6.2 and 7 write them.
struct RedisRefusalTests {
  private static let table: [(text: String, kind: RedisRefusal.Kind, code: String)] = [
    ("NOAUTH Authentication required.", .passwordMissing, "NOAUTH"),
    (
      "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option",
      .passwordMissing, "NOAUTH"
    ),
    ("WRONGPASS invalid username-password pair or user is disabled.", .passwordWrong, "WRONGPASS"),
    ("NOPERM User authproxy has no permissions to run the 'eval' command", .permissionMissing, "NOPERM"),
    ("NOPROTO unsupported protocol version", .protocolUnknown, "NOPROTO"),
    ("ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `5ecret`", .protocolUnknown, "ERR"),
    ("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' '5ecret'", .protocolUnknown, "ERR"),
    ("ERR unknown command 'EVAL', with args beginning with: 'x'", .commandUnknown, "ERR"),
    ("LOADING Redis is loading the dataset in memory", .loading, "LOADING"),
    ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", .primaryDown, "MASTERDOWN"),
    ("READONLY You can't write against a read only replica. script: f_1, on @user_script:1.", .readOnly, "READONLY"),
    (
      "ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -READONLY You can't write against a read only replica.",
      .readOnly, "READONLY"
    ),
    ("OOM command not allowed when used memory > 'maxmemory'. script: f_1", .outOfMemory, "OOM"),
    (
      "ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed when used memory > 'maxmemory'.",
      .outOfMemory, "OOM"
    ),
    (
      "ERR Error running script (call to f_1): @user_script:2: The user executing the script can't run this command or subcommand",
      .permissionMissing, "ERR"
    ),
    (
      "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.", .cannotSave, "MISCONF"
    ),
    ("NOREPLICAS Not enough good replicas to write.", .tooFewReplicas, "NOREPLICAS"),
    ("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", .busy, "BUSY"),
    ("ERR max number of clients reached", .tooManyClients, "ERR"),
    ("DENIED Redis is running in protected mode because protected mode is enabled", .isProtected, "DENIED"),
    ("WRONGTYPE Operation against a key holding the wrong kind of value", .wrongType, "WRONGTYPE"),
    ("ERR DB index is out of range", .databaseUnknown, "ERR"),
    ("ERR SELECT is not allowed in cluster mode", .databaseUnknown, "ERR"),
    ("CLUSTERDOWN The cluster is down", .clusterDown, "CLUSTERDOWN"), ("TRYAGAIN Multiple keys request", .tryAgain, "TRYAGAIN"),
    ("MOVED 3999 127.0.0.1:6381", .moved(RedisNode(host: "127.0.0.1", port: 6381)), "MOVED"),
    ("MOVED 3999 ::1:6381", .moved(RedisNode(host: "::1", port: 6381)), "MOVED"),
    ("MOVED 3999 [::1]:6381", .moved(RedisNode(host: "::1", port: 6381)), "MOVED"),
    ("MOVED 3999 :6381", .moved(RedisNode(host: "", port: 6381)), "MOVED"),
    ("ASK 3999 node.test:1", .ask(RedisNode(host: "node.test", port: 1)), "ASK"),
    ("MOVED 3999 node.test:0", .moved(nil), "MOVED"), ("MOVED 3999 node.test:65536", .moved(nil), "MOVED"),
    ("MOVED 3999 node.test", .moved(nil), "MOVED"), ("MOVED", .moved(nil), "MOVED"), ("ASK 1 x:y", .ask(nil), "ASK"),
    ("EXECABORT 5ecret", .other, "EXECABORT"), ("what 5ecret is that", .other, ""), ("", .other, ""),
    ("ERR - -x -READ 5ecret", .other, "ERR"),
  ]

  @Test func `each error is known, says what to do, and never repeats the server's words`() {
    var sentences: [RedisRefusal.Kind: String] = [:]
    for (text, kind, code) in Self.table {
      let refusal = RedisRefusal(RESPError(Array(text.utf8)))
      #expect(refusal == RedisRefusal(kind, code: code), "\(text)")
      #expect("\(refusal)\(RedisFailure.refused(refusal))".contains("5ecret") == false)
      #expect("\(refusal)".hasPrefix(code) || code == "ERR", "\(refusal)")
      sentences[kind] = "\(refusal)"
    }
    let kinds = sentences.filter { if case .moved = $0.key { false } else if case .ask = $0.key { false } else { true } }
    #expect(Set(kinds.values).count == kinds.count, "one sentence for two errors")
  }

  @Test func `a node is reached as the one that named it`() {
    let tcp = RedisAddress.tcp(host: "a.test", port: 1)
    #expect(tcp.other(host: "b.test", port: 2) == .tcp(host: "b.test", port: 2))
    #expect(tcp.other(host: "", port: 2) == .tcp(host: "a.test", port: 2))
    #expect(RedisAddress.tls(host: "a.test", port: 1).other(host: "::1", port: 2)?.description == "rediss://[::1]:2")
    #expect(RedisAddress.unix(path: "/s").other(host: "::1", port: 2) == .tcp(host: "::1", port: 2))
    #expect(RedisAddress.unix(path: "/s").other(host: "", port: 2) == nil)
    for host in ["/run/x", "a b", "a\0", "ä.test", String(repeating: "a", count: 256)] {
      #expect(tcp.other(host: host, port: 2) == nil, "\(host)")
    }
  }
}
