/// Files with the stores that a fleet shares. Together they have each key that `wholeLanguage` cannot have beside its own store.
let fleetStores = [
  #"""
  listen: 127.0.0.1:3128
  upstreams: [{match: h, credential: api}]
  credentials:
    api:
      oauth2:
        grant: client_credentials
        token_url: https://login.example.com/token
        client_id: my-app
        client_secret: {file: token}
        shared: true
  trust: {strict: [{default: {}}]}
  token_store:
    redis:
      address: rediss://valkey.internal
      username: authproxy
      password: {file: token}
      database: 3
      prefix: "fleet:"
      replicas: 2
      timeout: 3s
      trust: strict
      client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {file: token}}
      allow_plaintext: false
    key: {file: key32}
    previous_keys: [{file: other32}]
  """#,
  #"""
  listen: 127.0.0.1:3128
  upstreams: [{match: h, credential: api}]
  credentials:
    api: {oauth2: {grant: refresh_token, token_url: "https://l/t", client_id: c, client_secret: {file: token}, refresh_token: {env: TOKEN}}}
  token_store:
    redis:
      sentinel:
        name: mymaster
        addresses: ["rediss://s1.internal", "rediss://s2.internal:26380"]
        username: watcher
        password: {file: token}
    key: {file: key32}
  """#,
  #"""
  listen: 127.0.0.1:3128
  upstreams: [{match: h, credential: api}]
  credentials:
    api: {oauth2: {grant: refresh_token, token_url: "https://l/t", client_id: c, client_secret: {file: token}, refresh_token: {env: TOKEN}}}
  trust: {strict: [{default: {}}]}
  token_store:
    kubernetes:
      secret: authproxy-tokens
      namespace: authproxy
      address: https://10.0.0.1
      token: {file: none}
      trust: strict
    key: none
  """#,
]
