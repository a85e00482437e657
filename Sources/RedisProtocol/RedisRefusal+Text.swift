/// What happened, and what to do.
extension RedisRefusal: CustomStringConvertible {
  public var description: String { code.isEmpty || code == "ERR" ? sentence : "\(code): \(sentence)" }

  private var sentence: String {
    switch kind {
    case .passwordMissing: "the server wants a user name and password: set `username` and `password`"
    case .passwordWrong:
      "the server does not accept the user name and password: check both, and that the ACL user is on"
    case .permissionMissing:
      "the ACL user lacks a permission: check the commands, keys and channels that it has against the documentation"
    case .protocolUnknown:
      "the server does not speak RESP3: it must be Redis 6.2 or later, or Valkey, without a proxy that does not"
    case .commandUnknown: "the server lacks a command: it must be Redis 6.2 or later, or Valkey, with EVAL, WAIT and SUBSCRIBE"
    case .loading: "the server is still loading its data: it is asked again soon"
    case .primaryDown: "the server is a replica that has lost its primary: check the primary, or use `sentinel`"
    case .readOnly: "the server is a replica: `address` must lead to the primary; `sentinel` follows it"
    case .outOfMemory: "the server has reached `maxmemory`: raise it, or remove what else the server holds"
    case .cannotSave: "the server cannot save its data and refuses writes: see its log"
    case .tooFewReplicas: "the server has fewer replicas than its `min-replicas-to-write`: check the replicas"
    case .busy: "a script of another client holds up the server: see its log"
    case .tooManyClients: "the server has no room for another client: raise its `maxclients`"
    case .isProtected: "the server is in protected mode, and accepts local clients only: give it a password"
    case .wrongType: "something else has the key of the record: use another `prefix`"
    case .databaseUnknown: "the server does not have this `database`: a cluster has 0 only"
    case .moved, .ask: "the server redirects to a node that cannot be asked: check what the cluster's nodes announce"
    case .clusterDown: "a part of the cluster is down: see CLUSTER INFO"
    case .tryAgain: "the cluster moves the record to another node: it is asked again soon"
    case .other: "the server refuses the command: see its log"
    }
  }
}
