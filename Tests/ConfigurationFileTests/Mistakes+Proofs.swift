extension Mistake {
  /// Certificates for token servers, and signatures.
  static let ofProofs: [Mistake] = [
    Mistake(
      "tls_client_auth without certificate, or with a secret",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: self_signed_tls_client_auth}}
        c:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_auth: tls_client_auth
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
            client_secret: {env: TOKEN}
            private_key: {file: key.pem}
            client_assertion: {env: TOKEN}
        d:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_auth: tls_client_auth
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        e:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_auth: tls_client_auth
            client_certificat: {certificate: cert.pem, key: {file: key.pem}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'client_certificate' for client_auth tls_client_auth",
        "4:7: error: credentials.b.oauth2 needs 'client_certificate' for client_auth self_signed_tls_client_auth",
        "12:7: error: credentials.c.oauth2.client_secret cannot be used with client_auth tls_client_auth",
        "13:7: error: credentials.c.oauth2.private_key cannot be used with client_auth tls_client_auth",
        "14:7: error: credentials.c.oauth2.client_assertion cannot be used with client_auth tls_client_auth",
        "16:5: error: credentials.d.oauth2 needs 'client_id'",
        "27:7: error: unknown key 'client_certificat' in credentials.e.oauth2 (did you mean 'client_certificate'?)",
      ]),
    Mistake(
      "a certificate that authenticates nobody",
      #"""
      credentials:
        a:
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
      """#,
      [
        "8:7: error: credentials.a.oauth2 needs 'client_auth: tls_client_auth' or 'client_auth: self_signed_tls_client_auth' "
          + "if the certificate alone authenticates the client"
      ]),
    Mistake(
      "a certificate where no server can see it",
      #"""
      token_store: {file: tokens.json}
      credentials:
        a:
          oauth2:
            grant: device_code
            token_url: http://127.0.0.1/t
            device_authorization_url: http://127.0.0.1/d
            revocation_url: http://[::1]/r
            client_id: c
            client_auth: tls_client_auth
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        b:
          oauth2:
            grant: device_code
            issuer: http://localhost
            device_authorization_url: https://l/d
            client_id: c
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        c:
          oauth2:
            grant: client_credentials
            token_url: http://l/t
            client_id: c
            client_auth: tls_client_auth
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
      """#,
      [
        "7:18: error: credentials.a.oauth2.token_url must be https: 'client_certificate' cannot be presented over http",
        "8:33: error: credentials.a.oauth2.device_authorization_url must be https: 'client_certificate' cannot be presented "
          + "over http",
        "9:23: error: credentials.a.oauth2.revocation_url must be https: 'client_certificate' cannot be presented over http",
        "16:15: error: credentials.b.oauth2.issuer must be https: 'client_certificate' cannot be presented over http",
        "23:18: error: credentials.c.oauth2.token_url must be https unless it is on loopback: the proxy sends secrets there",
      ]),
    Mistake(
      "certificates that cannot be presented",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: cert.pem}}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: next.pem, key: {file: key.pem}}}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}}}}
        d: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: cert.pem, key: {file: encrypted.pem}, passphrase: {file: words}}}}
        e: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: none.pem, key: {file: none.pem}}}}
        f: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, client_certificate: {certificate: fake.pem, key: {file: mangled.pem}}}}
      """#,
      [
        "3:111: error: credentials.a.oauth2.client_certificate needs 'key'",
        "4:160: error: credentials.b.oauth2.client_certificate.key does not belong to the first certificate of "
          + "/etc/authproxy/next.pem",
        "5:160: error: credentials.c.oauth2.client_certificate.key is encrypted and needs 'passphrase'",
        "6:160: error: credentials.d.oauth2.client_certificate.key cannot be decrypted with this 'passphrase'",
        "7:145: error: credentials.e.oauth2.client_certificate.certificate: /etc/authproxy/none.pem: No such file or directory",
        "7:160: error: credentials.e.oauth2.client_certificate.key: /etc/authproxy/none.pem: No such file or directory",
        "8:145: error: credentials.f.oauth2.client_certificate.certificate: /etc/authproxy/fake.pem contains data that is not "
          + "an X.509 certificate",
        "8:160: error: credentials.f.oauth2.client_certificate.key is not a readable private key",
      ]),
    Mistake(
      "tokens that are bound to no certificate",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, certificate_bound: true}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: tls_client_auth, certificate_bound: true}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, certificate_bound: yes}}
      """#,
      [
        "3:7: error: credentials.a.oauth2 needs 'client_certificate' for 'certificate_bound: true'",
        "4:7: error: credentials.b.oauth2 needs 'client_certificate' for client_auth tls_client_auth",
        "5:129: error: credentials.c.oauth2.certificate_bound must be true or false, not 'yes'",
      ]),
    Mistake(
      "bound tokens for origins that do not see the certificate, or another one",
      #"""
      upstreams:
        - {match: a, origin: "http://a", credential: a}
        - match: b
          credential: a
          client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        - {match: c, credential: a}
      credentials:
        a:
          allow_plaintext: true
          oauth2:
            grant: client_credentials
            token_url: https://l/t
            client_id: c
            client_auth: tls_client_auth
            client_certificate: {certificate: cert.pem, key: {file: key.pem}}
            certificate_bound: true
      """#,
      [
        "3:24: error: upstreams[0]: credential 'a' has 'certificate_bound: true', and an http:// origin sees no certificate",
        "6:5: error: upstreams[1].client_certificate: credential 'a' has 'certificate_bound: true', so the entry presents that "
          + "credential's certificate",
      ]),
    Mistake(
      "algorithms that do not fit the key",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, private_key: {file: key.pem}, signing_algorithm: RS256}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, private_key: {file: key.pem}, signing_algorithm: ES384}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, private_key: {file: key.pem}, signing_algorithm: HS256}}
        d: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_secret: {env: TOKEN}, signing_algorithm: ES256}}
        e: {oauth2: {grant: jwt_bearer, token_url: https://l/t, private_key: {file: key.pem}, signing_algorithm: EdDSA, assertion: {issuer: i, subject: s, audience: a}}}
      """#,
      [
        "3:130: error: credentials.a.oauth2.signing_algorithm RS256 does not fit the private key, which signs ES256",
        "4:130: error: credentials.b.oauth2.signing_algorithm ES384 does not fit the private key, which signs ES256",
        "5:130: error: credentials.c.oauth2.signing_algorithm must be RS256, PS256, ES256, ES384 or EdDSA, not 'HS256' "
          + "(did you mean 'ES256'?)",
        "6:110: error: credentials.d.oauth2.signing_algorithm belongs to 'private_key', which is missing",
        "7:108: error: credentials.e.oauth2.signing_algorithm EdDSA does not fit the private key, which signs ES256",
      ]),
    Mistake(
      "a secret that is too short for HS256, or that is missing",
      #"""
      credentials:
        a: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: client_secret_jwt, client_secret: {env: TOKEN}}}
        b: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: client_secret_jwt}}
        c: {oauth2: {grant: client_credentials, token_url: https://l/t, client_id: c, client_auth: client_secret_jwt, client_secret: {file: long}, private_key: {file: key.pem}}}
        d: {oauth2: {grant: client_credentials, token_url: https://l/t, client_auth: client_secret_jwt, client_secret: {file: long}}}
      """#,
      [
        "3:128: error: credentials.a.oauth2.client_secret must have at least 32 bytes for client_auth client_secret_jwt",
        "4:7: error: credentials.b.oauth2 needs 'client_secret' for client_auth client_secret_jwt",
        "5:142: error: credentials.c.oauth2.private_key cannot be used with client_auth client_secret_jwt",
        "6:7: error: credentials.d.oauth2 needs 'client_id'",
      ]),
  ]
}
