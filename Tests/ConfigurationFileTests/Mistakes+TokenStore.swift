/// Stores that a fleet shares.
extension Mistake {
  private static let path = "token_store.redis"

  static let ofTokenStores = [
    Mistake(
      "several stores",
      #"""
      token_store: {file: t, redis: {address: "redis://localhost"}, key: {file: key32}}
      """#,
      ["2:1: error: token_store must have one of 'file', 'redis' and 'kubernetes', not several"]),
    Mistake(
      "a shared store without a key",
      #"""
      token_store: {redis: {address: "redis://localhost"}}
      """#,
      ["2:1: error: token_store needs 'key' for a store that a fleet shares (openssl rand -base64 32)"]),
    Mistake(
      "no key where one is needed",
      #"""
      token_store: {redis: {address: "redis://localhost"}, key: none}
      """#,
      ["2:59: error: token_store.key can be none for kubernetes only"]),
    Mistake(
      "keys",
      #"""
      token_store:
        redis: {address: "redis://localhost"}
        key: {file: key32}
        previous_keys: [{file: key32}, {file: token}, {file: other32}, {file: other32}]
      """#,
      [
        "5:19: error: token_store.previous_keys[0] is the 'key' itself: nothing would be written with another one",
        "5:34: error: token_store.previous_keys[1] must be 32 bytes in base64 (openssl rand -base64 32)",
        "5:66: error: token_store.previous_keys[3] is there twice",
      ]),
    Mistake(
      "previous keys of a file",
      #"""
      token_store: {file: t, key: {file: key32}, previous_keys: [{file: other32}]}
      """#,
      ["2:44: error: token_store.previous_keys is for redis and kubernetes only"]),
    Mistake(
      "neither address nor sentinel",
      #"""
      token_store: {redis: {database: 1}, key: {file: key32}}
      """#,
      ["2:15: error: token_store.redis needs one of 'address' and 'sentinel'"]),
    Mistake(
      "address and sentinel",
      #"""
      token_store:
        redis: {address: "redis://localhost", sentinel: {name: m, addresses: ["redis://localhost"]}}
        key: {file: key32}
      """#,
      ["3:3: error: token_store.redis must have one of 'address' and 'sentinel', not both"]),
    Mistake(
      "what belongs into other keys",
      #"""
      token_store: {redis: {address: "rediss://user:s3cr3t@valkey:6379"}, key: {file: key32}}
      """#,
      [
        "2:32: error: token_store.redis.address must not contain a user or password: 'username' and 'password' name them"
      ]),
    Mistake(
      "a database in the address",
      #"""
      token_store: {redis: {address: "rediss://valkey:6379/3"}, key: {file: key32}}
      """#,
      ["2:32: error: token_store.redis.address must end after host and port: 'database' names another one"]),
    Mistake(
      "another scheme",
      #"""
      token_store: {redis: {address: "valkey:6379"}, key: {file: key32}}
      """#,
      ["2:32: error: token_store.redis.address must start with redis://, rediss:// or unix:"]),
    Mistake(
      "sentinels of two schemes, and one without a port to go to",
      #"""
      token_store:
        redis: {sentinel: {name: m, addresses: ["rediss://a", "redis://b", "unix:/s", "rediss://c:0"]}}
        key: {file: key32}
      """#,
      [
        "3:57: error: token_store.redis.sentinel.addresses[1] has another scheme than the first one, which is the server's as well",
        "3:70: error: token_store.redis.sentinel.addresses[2] must start with redis:// or rediss://: a Sentinel names servers by "
          + "host",
        "3:81: error: token_store.redis.sentinel.addresses[3] has port 0",
      ]),
    Mistake(
      "clear text to another machine",
      #"""
      token_store: {redis: {address: "redis://valkey"}, key: {file: key32}}
      """#,
      [
        "2:32: error: token_store.redis: redis:// sends the password to another machine in the clear; use rediss://, or say "
          + "'allow_plaintext: true'"
      ]),
    Mistake(
      "what only TLS needs",
      #"""
      trust: {strict: [{default: {}}]}
      token_store:
        redis:
          address: redis://localhost
          trust: strict
          client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        key: {file: key32}
      """#,
      [
        "6:5: error: token_store.redis.trust is for rediss:// only",
        "7:5: error: token_store.redis.client_certificate is for rediss:// only",
      ]),
    Mistake(
      "trust that is none, or not there",
      #"""
      trust: {lab: [{disabled: {}}]}
      token_store: {redis: {address: "rediss://valkey", trust: lab}, key: {file: key32}}
      """#,
      ["3:58: error: token_store.redis: trust 'lab' is disabled, so the password could go to anybody"]),
    Mistake(
      "a user without a password, and a prefix that no key has",
      #"""
      token_store: {redis: {address: "redis://localhost", username: authproxy, prefix: "a b"}, key: {file: key32}}
      """#,
      [
        "2:15: error: token_store.redis needs 'password' for 'authproxy'",
        "2:82: error: token_store.redis.prefix must have at most 100 characters, of visible ASCII",
      ]),
    Mistake(
      "a Kubernetes that nobody can reach",
      #"""
      token_store: {kubernetes: {secret: Tokens, namespace: a, address: "http://api/x"}, key: none}
      """#,
      [
        "2:36: error: token_store.kubernetes.secret must be the name of an object: lower-case letters, digits, - and ., not 'Tokens'",
        "2:67: error: token_store.kubernetes.address must end after host and port",
      ]),
    Mistake(
      "its token in the clear",
      #"""
      token_store: {kubernetes: {secret: t, namespace: a, address: "http://api"}, key: none}
      """#,
      [
        "2:62: error: token_store.kubernetes.address must be https unless it is on loopback: the proxy sends its token there"
      ]),
    Mistake(
      "a name that no Secret's entry has",
      #"""
      token_store: {kubernetes: {secret: t, namespace: a, address: "https://api"}, key: none}
      credentials:
        "my api": {oauth2: {grant: client_credentials, token_url: "https://l/t", client_id: c, client_secret: {env: TOKEN}}}
      """#,
      [
        "4:3: error: credentials.my api has a name with characters that an entry of a Secret cannot have: letters, digits and -_."
      ]),
    Mistake(
      "what is shared without a store for it",
      #"""
      token_store: {file: t}
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: "https://l/t", client_id: c, client_secret: {env: TOKEN}, shared: true}}
      """#,
      ["4:112: error: credentials.a.oauth2.shared needs a 'token_store' that a fleet shares: redis or kubernetes"]),
    Mistake(
      "what must be shared, and what cannot be",
      #"""
      token_store: {redis: {address: "redis://localhost"}, key: {file: key32}}
      credentials:
        a: {oauth2: {grant: refresh_token, token_url: "https://l/t", client_id: c, client_secret: {env: TOKEN}, refresh_token: {env: TOKEN}, shared: false}}
        b: {oauth2: {grant: token_exchange, token_url: "https://l/t", client_id: c, client_secret: {env: TOKEN}, subject_token: client, shared: true}}
      """#,
      [
        "4:144: error: credentials.a.oauth2.shared cannot be false with grant refresh_token: two processes would spend one refresh "
          + "token",
        "5:139: error: credentials.b.oauth2.shared cannot be true: it exchanges tokens of an app's user, or of another credential",
      ]),
  ]

  static let ofOddTokenStores = [
    Mistake(
      "a fail-over that can lose a claim",
      #"""
      upstreams: [{match: h}]
      token_store:
        redis: {sentinel: {name: m, addresses: "rediss://s"}, replicas: 0}
        key: {file: key32}
      """#,
      [
        "4:67: warning: token_store.redis.replicas: with 0, a fail-over can lose a claim, and a refresh token be used twice"
      ]),
    Mistake(
      "an assertion that does not say whose it is",
      #"""
      upstreams: [{match: h, credential: a}]
      token_store: {redis: {address: "redis://localhost"}, key: {file: key32}}
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: "https://l/t", client_assertion: {file: token}}}
      """#,
      [
        "5:87: warning: credentials.a.oauth2.client_assertion has no readable 'iss' and 'sub', which would say whose tokens these "
          + "are: each process has its own, and 'token_store' is not used"
      ]),
    Mistake(
      "Kubernetes without a pod",
      #"""
      upstreams: [{match: h}]
      token_store: {kubernetes: {secret: t}, key: none}
      """#,
      [
        "3:15: warning: token_store.kubernetes has no 'address', and KUBERNETES_SERVICE_HOST does not say it: "
          + "https://kubernetes.default.svc:443 is used",
        "3:15: warning: token_store.kubernetes has no 'namespace', and this process has no service account that says it: 'default' "
          + "is used",
      ]),
  ]
}
