extension Mistake {
  /// Where keys and tokens come from that no OAuth 2.0 server issues.
  static let ofSources: [Mistake] = [
    Mistake(
      "a source of AWS keys that is none",
      #"""
      credentials:
        a: {sigv4: {source: ec2}}
        b: {sigv4: {source: {command: []}}}
        c: {sigv4: {source: {command: [keys]}}}
        d: {sigv4: {source: {comand: [/bin/keys]}}}
        e: {sigv4: {source: {command: [/bin/keys], timeout: 5}}}
        f: {sigv4: {session_token: {env: TOKEN}}}
      """#,
      [
        "3:23: error: credentials.a.sigv4.source must be default, environment, profile, container, instance or web_identity, not "
          + "'ec2'; or {command: [...]}",
        "4:33: error: credentials.b.sigv4.source.command is empty",
        "5:34: error: credentials.c.sigv4.source.command: the program must be a path; the proxy does not search PATH",
        "6:24: error: unknown key 'comand' in credentials.d.sigv4.source (did you mean 'command'?)",
        "7:55: error: credentials.e.sigv4.source.timeout: '5' needs a unit: 250ms, 30s, 5m or 1h",
        "8:15: error: credentials.f.sigv4.session_token belongs to 'access_key_id', which is missing",
      ]),
    Mistake(
      "roles that cannot be assumed",
      #"""
      credentials:
        a: {sigv4: {assume_role: {role_arn: "arn:aws:iam::1:user/x"}}}
        b: {sigv4: {assume_role: []}}
        c: {sigv4: {assume_role: {session_name: xy}}}
        d: {sigv4: {assume_role: [{role_arn: "arn:aws:iam::1:role/x", session_name: "a b"}]}}
        e: {sigv4: {assume_role: {role_arn: "arn:aws:iam::1:role/x", duration: 10m}}}
        f: {sigv4: {assume_role: {role_arn: "arn:aws:iam::1:role/x", external_id: {file: words}}}}
        g: {sigv4: {assume_role: {role: "arn:aws:iam::1:role/x"}}}
      """#,
      [
        "3:39: error: credentials.a.sigv4.assume_role.role_arn must be like arn:aws:iam::123456789012:role/name, not "
          + "'arn:aws:iam::1:user/x'",
        "4:28: error: credentials.b.sigv4.assume_role is empty",
        "5:28: error: credentials.c.sigv4.assume_role needs 'role_arn'",
        "6:79: error: credentials.d.sigv4.assume_role[0].session_name must consist of 2 to 64 letters, digits and _+=,.@-, not 'a b'",
        "7:74: error: credentials.e.sigv4.assume_role.duration must be from 15m to 12h, not '10m'",
        "8:77: error: credentials.f.sigv4.assume_role.external_id must consist of 2 to 1224 letters, digits and _+=,.@:/-",
        "9:28: error: credentials.g.sigv4.assume_role needs 'role_arn'",
        "9:29: error: unknown key 'role' in credentials.g.sigv4.assume_role",
      ]),
    Mistake(
      "STS in clear text, under no trust, or under too little",
      #"""
      credentials:
        a: {sigv4: {sts: "http://sts.example.com"}}
        b: {sigv4: {sts: nowhere, assume_role: {role_arn: "arn:aws:iam::1:role/x"}}}
        c: {sigv4: {trust: missing}}
        d: {sigv4: {trust: lab, assume_role: {role_arn: "arn:aws:iam::1:role/x"}}}
        e: {sigv4: {trust: lab, sts: "http://127.0.0.1:1", assume_role: {role_arn: "arn:aws:iam::1:role/x"}}}
      trust: {lab: [{disabled: {}}]}
      """#,
      [
        "3:20: error: credentials.a.sigv4.sts must be https unless it is on loopback: the proxy sends tokens there",
        "4:20: error: credentials.b.sigv4.sts must start with https:// or http://",
        "5:22: error: credentials.c.sigv4.trust: there is no 'missing' in 'trust'",
        "6:22: error: credentials.d.sigv4: trust 'lab' is disabled, so secrets may go to STS only with 'allow_untrusted: true' in the "
          + "credential",
        "7:22: error: credentials.e.sigv4.trust has no effect: STS is http://",
      ]),
    Mistake(
      "identities of machines",
      #"""
      credentials:
        a: {cloud_identity: {cloud: aws}}
        b: {cloud_identity: {scopes: "https://s"}}
        c: {cloud_identity: {cloud: google, resource: "https://r", client_id: c}}
        d: {cloud_identity: {cloud: google, scopes: [], }}
        e: {cloud_identity: {cloud: google, scopes: ["a,b", "c d"]}}
        f: {cloud_identity: {cloud: google, scopes: "https://s", id_token_audience: x}}
        g: {cloud_identity: {cloud: azure}}
        h: {cloud_identity: {cloud: azure, resource: "https://r", scopes: "https://s", id_token_audience: x}}
      """#,
      [
        "3:31: error: credentials.a.cloud_identity.cloud must be google or azure, not 'aws'",
        "4:7: error: credentials.b.cloud_identity needs 'cloud'",
        "5:39: error: credentials.c.cloud_identity.resource cannot be used with cloud google",
        "5:62: error: credentials.c.cloud_identity.client_id cannot be used with cloud google",
        "6:47: error: credentials.d.cloud_identity.scopes is empty",
        "7:48: error: credentials.e.cloud_identity.scopes[0] must be one scope, without spaces and commas",
        "7:55: error: credentials.e.cloud_identity.scopes[1] must be one scope, without spaces and commas",
        "8:39: error: credentials.f.cloud_identity.scopes cannot be used with 'id_token_audience'",
        "9:7: error: credentials.g.cloud_identity needs 'resource' with cloud azure",
        "10:61: error: credentials.h.cloud_identity.scopes cannot be used with cloud azure",
        "10:82: error: credentials.h.cloud_identity.id_token_audience cannot be used with cloud azure",
      ]),
    Mistake(
      "apps of GitHub",
      #"""
      credentials:
        a: {github_app: {app_id: "1"}}
        b: {github_app: {app_id: "1", installation_id: me, private_key: {file: rsa.pem}, passphrase: {env: TOKEN}}}
        c: {github_app: {app_id: "1", installation_id: "2", private_key: {file: key.pem}}}
        d:
          github_app:
            app_id: "1"
            installation_id: "2"
            private_key: {file: rsa.pem}
            passphrase: {env: TOKEN}
            repositories: [owner/name]
            permissions: {contents: all}
            scheme: token
            api: http://github.example.com
            trust: missing
        e:
          github_app: {app_id: "1", installation_id: "2", private_key: {file: rsa.pem}, passphrase: {env: TOKEN}, trust: lab}
        f: {github_app: {app_id: "1", installation_id: "2", private_key: {file: rsa1024.pem}}}
      trust: {lab: [{disabled: {}}]}
      """#,
      [
        "3:7: error: credentials.a.github_app needs 'installation_id'",
        "3:7: error: credentials.a.github_app needs 'private_key'",
        "4:50: error: credentials.b.github_app.installation_id must be the number at the end of the installation's address, not 'me'",
        "5:68: error: credentials.c.github_app.private_key must be RSA of 2048 bits or more, as GitHub's keys are",
        "12:22: error: credentials.d.github_app.repositories[0] must be a name without its owner, not 'owner/name'",
        "13:31: error: credentials.d.github_app.permissions.contents must be read, write or admin, not 'all'",
        "14:15: error: credentials.d.github_app.scheme must be bearer or basic, not 'token'",
        "15:12: error: credentials.d.github_app.api must be https unless it is on loopback: the proxy sends a signed token there",
        "16:14: error: credentials.d.github_app.trust: there is no 'missing' in 'trust'",
        "18:116: error: credentials.e.github_app: trust 'lab' is disabled, so secrets may go to the API only with "
          + "'allow_untrusted: true' in the credential",
        "19:68: error: credentials.f.github_app.private_key must be RSA of 2048 bits or more, as GitHub's keys are",
      ]),
  ]
}
