/// Every key of the language, in one valid file.
let wholeLanguage = #"""
  name: authproxy
  listen:
    - 127.0.0.1:3128
    - address: unix:/run/authproxy/proxy.sock
      mode: "0660"
      owner: root
      group: app
    - address: 0.0.0.0:3128
      clients: required
    - address: fd:3
      proxy_protocol: [10.0.0.0/8, "fd00::7", unix]
    - address: 0.0.0.0:3129
      tls:
        certificate: cert.pem
        key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
        client_certificates: {ca_file: next.pem, required: true}
        min_version: tls1.3
    - address: 127.0.0.1:3130
      tls: {names: [Proxy.example.com., 192.0.2.7]}
  admin:
    address: 127.0.0.1:9128
    expose: [healthz, readyz, metrics, dashboard]
    hosts: [Ops.internal.:9128, status.internal]
  threads: auto
  watch_files: 10s
  log:
    level: info
    format: json
    access: true
    file: stdout
  limits:
    connections: 10000
    request_head: 32KiB
    response_head: 64KiB
    replay_body: 64KiB
    hashed_body: 10MiB
    buffers: 64MiB
    waiting_for_credential: 10000
    subject_tokens: 10000
    upstream_connections: 256
    upstream_streams: 100
    client_streams: 100
    cache: 64MiB
  timeouts:
    request_head: 30s
    idle: 75s
    handshake: 10s
    upstream_idle: 30s
    resolve: 5s
    connect: 10s
    response_head: 60s
    stall: 60s
    tunnel: 1h
    credential: 15s
    collapse: 5s
    shutdown_delay: 0s
    drain: 30s
  clients:
    - name: billing
      password: {file: token}
      allow: [payments, "*.internal.example.com"]
      max_requests: 64
    - name: legacy-java
      from: [10.2.0.0/16, "fd00::/8"]
    - {name: by-uri, certificate: {uri: "spiffe://example.com/billing"}}
    - {name: by-dns, certificate: {dns: Billing.internal}, password: {file: token}}
    - {name: by-pin, certificate: {pin: "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}
  anonymous: {allow: [], max_requests: 16}
  unlisted_hosts: forward
  connect:
    allow: ["*.example.com:443"]
  intercept:
    ca:
      - certificate: ca/issuer.pem
        key: {file: ca/issuer.key}
        passphrase: {env: TOKEN}
        allow_unconstrained: false
      - certificate: open/issuer.pem
        key: {file: open/issuer.key}
        allow_unconstrained: true
    publish: /run/authproxy/ca/
    leaf_lifetime: 24h
    leaf_cache: 1000
    min_version: tls1.2
  forbidden_addresses: [default, 192.0.2.0/24]
  via: [corporate, direct]
  routes:
    - {match: ["*.internal.example.com", 10.0.0.0/8, "fd00::/8", "db.example.com:8443", "[2001:db8::1]:8080", 192.0.2.7], via: direct}
    - {match: "*:25", via: environment}
  parents:
    corporate:
      url: HTTP://Proxy.corp.example.:8080/
      credential: proxy-login
      resolve: parent
      tunnel_http: true
      connect_headers: {User-Agent: "Mozilla/5.0", X-Way: out}
    backup:
      url: https://[2001:db8::9]:3129
      trust: lab
      client_certificate:
        certificate: cert.pem
        key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
    checking: {url: "http://192.0.2.9:8080", resolve: here}
    here: {url: "socks5://127.0.0.1:1080", credential: socks-login}
    there: {url: "socks5h://socks.example.com:1080"}
  hosts:
    API.example.com.: [192.0.2.7, "2001:db8::7"]
  bind: [192.0.2.9, "2001:db8::9"]
  address_family: auto
  upstreams:
    - name: payments
      match: api.example.com/v1/
      methods: [GET, HEAD, PROPFIND]
      clients: [billing]
      origin: https://api.example.com/api/v2/
      strip_prefix: false
      redirects:
        follow: 5
        methods: [GET, HEAD, POST]
        to: ["*.s3.example.com", "cdn.example.com:8443", key.example.com/v1, "[2001:DB8::2]"]
      credential: example-api
      wildcard_credential: false
      trust: strict
      client_certificate:
        certificate: cert.pem
        key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
      client_authorization: replace
      retry:
        attempts: 2
        methods: [GET, HEAD, OPTIONS, PUT, DELETE]
        statuses: [408, 500, 502, 503, 504]
        backoff: 500ms
        max_wait: 15s
      rewrite:
        location: true
        link: true
        secure_cookies: false
      timeouts: {response_head: 5m}
      decompress: false
      host_header: origin
      http_version: auto
      via: checking
      bind: [192.0.2.10]
      address_family: ipv4
      request_headers:
        remove: ["X-Debug-*", Accept]
        set: {User-Agent: billing/1, X-App: "app {client} {{1}"}
      response_headers: {remove: [], set: {X-Served: "{client}"}}
    - {match: "*.example.com", credential: legacy-basic, wildcard_credential: true, via: [here, there]}
    - {match: "[2001:DB8::1]:8080", origin: "http://[2001:db8::1]:8080", credential: plain}
    - {match: bearer.example.com., credential: static-bearer, via: backup}
    - {match: docker.example.com, origin: unix:run/docker.sock, credential: static-bearer}
    - {match: key.example.com/v1, credential: api-key, strip_prefix: true}
    - {match: refreshing.example.com, credential: refreshing}
    - {match: person.example.com, credential: person}
    - {match: signed.example.com, credential: signed}
    - {match: ready.example.com, credential: ready}
    - {match: workload.example.com, credential: workload}
    - {match: keyed.example.com, credential: keyed, trust: lab}
    - {match: mail.example.com, credential: mailbox}
    - {match: cluster.example.com, credential: cluster}
    - {match: partner.example.com, credential: partner}
    - {match: self-signed.example.com, credential: self-signed}
    - {match: hashed.example.com, credential: hashed}
    - {match: bucket.example.com, credential: bucket}
    - {match: queue.example.com, credential: queue}
    - {match: objects.example.com, credential: aws-role}
    - {match: topic.example.com, credential: aws-program}
    - {match: storage.example.com, credential: gcp}
    - {match: run.example.com, credential: gcp-id}
    - {match: vault.example.com, credential: azure}
    - {match: git.example.com, credential: installation}
    - {match: camera.example.com, credential: camera}
    - {match: minted.example.com, credential: minted}
    - {match: apple.example.com, credential: apple}
    - {match: shared.example.com, credential: shared}
    - {match: venue.example.com, credential: venue}
    - {match: wba.example.com, credential: web-bot}
    - {match: coded.example.com, credential: coded}
    - {match: intranet.example.com, credential: intranet}
    - {match: tickets.example.com, credential: shared-tickets}
    - {match: by-password.example.com, credential: by-password}
    - {match: [both.example.com, "HTTPS://Both.example.com/"], clients: [by-uri]}
    - {match: "https://*.example.com:8443/v1", name: secure}
    - name: stored
      match: stored.example.com
      credential: legacy-basic
      timeouts: {collapse: 2s}
      cache:
        share: credential
        max_object: 2MiB
        default_ttl: 1m
        minimum_ttl: 0s
        stale_while_revalidate: 10s
        stale_if_error: 1d
        collapse: all
        ignore_headers: [X-Correlation-Id, "X-Tenant-*"]
        client_directives: ignore
    - {match: kept.example.com, cache: {minimum_ttl: 30s, default_ttl: heuristic}}
  credentials:
    proxy-login:
      basic: {username: svc, password: {env: TOKEN}}
      allow_plaintext: true
    socks-login:
      basic: {username: svc, password: {file: token}}
    legacy-basic:
      basic: {username: svc, password: {env: TOKEN}}
    static-bearer:
      bearer: {token: {file: token}}
    plain:
      bearer: {token: {command: [bin/helper, show, x], timeout: 5s, refresh: 30m}}
      allow_plaintext: true
    api-key:
      header: {name: X-Api-Key, value: {file: token}, format: "Token {value}"}
    example-api:
      oauth2:
        grant: client_credentials
        token_url: https://login.example.com/oauth/token
        client_id: my-app
        client_secret: {file: token}
        client_auth: basic
        scope: "read write"
        parameters: {audience: "https://api.example.com"}
        refresh_before_expiry: 5m
        default_lifetime: 1h
        refresh_window: {interval: 30s, attempts: 5}
        retry_statuses: [401]
        timeout: 10s
        trust: strict
    refreshing:
      oauth2:
        grant: refresh_token
        issuer: https://login.example.com
        client_id: my-app
        client_auth: none
        refresh_token: {file: token}
    person:
      oauth2:
        grant: password
        token_url: http://127.0.0.1:8080/token
        client_id: my-app
        client_secret: plain-secret
        client_auth: post
        username: u
        password: {env: TOKEN}
    signed:
      oauth2:
        grant: jwt_bearer
        token_url: https://login.example.com/oauth/token
        private_key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
        key_id: "2026-01"
        assertion: {issuer: i, subject: s, audience: a, lifetime: 5m}
    ready:
      oauth2: {grant: jwt_bearer, issuer: https://login.example.com, assertion: {file: token}}
    workload:
      oauth2:
        grant: client_credentials
        token_url: https://login.example.com/oauth/token
        client_assertion: {file: token}
    mailbox:
      oauth2:
        grant: authorization_code
        issuer: https://login.example.com
        authorization_url: https://www.example.com/authorize?tenant=7
        device_authorization_url: https://login.example.com/device
        revocation_url: http://127.0.0.1:8080/revoke
        client_id: my-app
        scope: "openid offline_access mail.read"
        redirect_uri: "http://[::1]:8484/"
        authorization_parameters: {prompt: consent}
        resource: [https://mail.example.com, "urn:example:mail"]
        use: id_token
        subject: "248289761001"
        login_lifetime: 90d
    cluster:
      oauth2:
        grant: device_code
        token_url: https://login.example.com/token
        device_authorization_url: https://login.example.com/device
        client_id: my-app
        client_secret: {file: token}
        resource: https://cluster.example.com
    downstream:
      oauth2:
        grant: token_exchange
        token_url: https://login.example.com/token
        client_id: my-app
        client_secret: {file: token}
        subject_token: {credential: mailbox}
        actor_token: {file: token}
        actor_token_type: jwt
        requested_token_type: "urn:example:token"
        audience: [orders, billing]
        resource: https://orders.example.com
    federated:
      oauth2:
        grant: token_exchange
        token_url: https://sts.example.com/token
        subject_token: {file: token}
        subject_token_type: jwt
        actor_token: {credential: cluster}
        audience: orders
    on-behalf:
      oauth2: {grant: token_exchange, token_url: https://login.example.com/token, subject_token: client}
    entra:
      oauth2:
        grant: jwt_bearer
        token_url: https://login.example.com/token
        client_id: my-app
        client_secret: {file: token}
        assertion: client
        parameters: {requested_token_use: on_behalf_of}
    keyed:
      oauth2:
        grant: client_credentials
        token_url: https://login.example.com/oauth/token
        client_id: my-app
        client_auth: private_key_jwt
        private_key: {file: key.pem}
        signing_algorithm: ES256
        dpop: {key: {file: encrypted.pem}, passphrase: {env: TOKEN}}
      allow_untrusted: true
    partner:
      oauth2:
        grant: client_credentials
        issuer: https://as.partner.example
        client_id: my-app
        client_auth: tls_client_auth
        client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {env: TOKEN}}
        certificate_bound: true
    self-signed:
      oauth2:
        grant: client_credentials
        issuer: https://as.partner.example
        client_id: my-app
        client_auth: self_signed_tls_client_auth
        client_certificate: {certificate: cert.pem, key: {file: key.pem}}
    hashed:
      oauth2:
        grant: client_credentials
        issuer: https://as.partner.example
        client_id: my-app
        client_auth: client_secret_jwt
        client_secret: {file: long}
    bucket:
      sigv4:
        service: s3
        region: eu-central-1
        access_key_id: AKIDEXAMPLE
        secret_access_key: {file: token}
        session_token: {env: TOKEN}
        payload: unsigned
    queue:
      sigv4: {service: [sqs, sns], region: [eu-central-1, eu-west-1], access_key_id: AKIDEXAMPLE, secret_access_key: {file: token}}
    aws-role:
      sigv4:
        region: eu-central-1
        source: profile
        profile: work
        assume_role:
          - {role_arn: "arn:aws:iam::123456789012:role/first"}
          - role_arn: arn:aws:iam::123456789012:role/path/second
            session_name: authproxy
            external_id: {env: TOKEN}
            duration: 1h
        sts: https://sts.eu-central-1.amazonaws.com
        refresh_before_expiry: 5m
        trust: strict
    aws-program:
      sigv4:
        source: {command: [bin/keys, x], timeout: 10s}
    gcp:
      cloud_identity: {cloud: google, scopes: https://www.googleapis.com/auth/cloud-platform}
    gcp-id:
      cloud_identity: {cloud: google, id_token_audience: run}
    azure:
      cloud_identity: {cloud: azure, resource: "https://vault.azure.net", client_id: c}
    installation:
      github_app:
        app_id: "12345"
        installation_id: "678"
        private_key: {file: rsa.pem}
        passphrase: {env: TOKEN}
        repositories: [example]
        permissions: {contents: read, issues: write}
        scheme: bearer
        api: https://api.github.com
        trust: strict
    camera:
      digest: {username: svc, password: {env: TOKEN}, algorithms: [SHA-512-256, SHA-256]}
    maps:
      query: {name: key, value: {file: token}}
    telegram:
      path: {segment: "bot{value}", value: {env: TOKEN}}
    minted:
      jwt:
        private_key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
        algorithm: ES256
        key_id: "2026-01"
        issuer: i
        subject: s
        audience: a
        claims: {scope: read, groups: [one, two], only: [one]}
        lifetime: 10m
        backdate: 60s
        expiration: true
        field: Authorization
        format: "Bearer {jwt}"
        retry_statuses: [401, 403]
    apple:
      jwt: {preset: apns, private_key: {file: key.pem}, key_id: ABC123, issuer: TEAM}
    shared:
      jwt:
        secret: {file: long}
        claims: '{"admin": true, "n": {"a": [1, 2.50]}}'
        expiration: false
        field: X-Token
        format: "{jwt}"
    venue:
      hmac:
        key: {file: token}
        key_encoding: text
        algorithm: sha512
        message: "{timestamp}{method}{target}{body}{passphrase}"
        output: base64
        timestamp: unix_ms
        values: {id: my-id, passphrase: {file: token}}
        fields: {X-Key: "{id}", X-Time: "{timestamp}", X-Sign: "{signature}"}
    web-bot:
      http_signature:
        key_id: my-key
        private_key: {file: encrypted.pem}
        passphrase: {env: TOKEN}
        algorithm: ecdsa-p256-sha256
        components: ["@Method", "@authority", X-Date]
        content_digest: sha-512
        expires: 5m
        tag: web-bot-auth
        nonce: true
        label: sig2
    coded:
      http_signature: {key_id: k, secret: {file: token}}
    intranet:
      negotiate:
        keytab: svc.keytab
        principal: svc@EXAMPLE.COM
        service_principal: HTTP/web.example.com
        channel_binding: false
        mutual: required
    shared-tickets:
      negotiate: {ccache: "FILE:krb5cc"}
    by-password:
      negotiate: {password: {file: token}, principal: svc}
  token_store:
    file: tokens.json
    key: {file: key32}
  all_hosts_must_be_evaluated: false
  trust:
    default:
      - default: {}
    strict:
      - default:
          ca_file: cert.pem
          system_roots: false
          validate_host: true
          min_version: tls1.3
      - pinned_public_keys:
          pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]
          certificates: [cert.pem]
          expires: 2090-06-01
          enforce: true
          validate_chain: true
          validate_host: true
      - pinned_certificates:
          certificates: [cert.pem, next.pem]
          accept_self_signed: false
          validate_chain: true
          validate_host: true
      - revocation:
          methods: [crl, ocsp]
          responder: http://ocsp.internal/
          crl_files: [crl.pem]
          network: true
          timeout: 3s
          require_positive_response: false
          check: leaf
          validate_chain: false
          validate_host: true
      - composite:
          - composite:
              - revocation: {network: false}
    lab:
      - disabled: {}
  """#
