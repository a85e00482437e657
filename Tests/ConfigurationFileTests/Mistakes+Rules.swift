extension Mistake {
  /// Rules for heads, paths and methods.
  static let ofRules: [Mistake] = [
    Mistake(
      "unix sockets",
      #"""
      trust: {strict: [{default: {}}]}
      upstreams:
        - match: a
          origin: unix:/run/a.sock
          trust: strict
          client_certificate: {certificate: cert.pem, key: {file: key.pem}}
        - {match: b, origin: "unix:"}
        - {match: c, origin: "unix:///run/c.sock"}
        - {match: d, origin: unix:/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}
        - {match: e, origin: unixx:/run/e.sock}
        - {match: f, origin: unix:/run/f.sock, via: direct, bind: [192.0.2.9], address_family: ipv4}
      """#,
      [
        "6:5: error: upstreams[0].trust has no effect: the origin is a unix socket",
        "7:5: error: upstreams[0].client_certificate has no effect: the origin is a unix socket",
        "8:24: error: upstreams[1].origin has no path, or one of more than 107 bytes",
        "9:24: error: upstreams[2].origin has the path of a socket right behind 'unix:', as in unix:/run/docker.sock",
        "10:24: error: upstreams[3].origin has no path, or one of more than 107 bytes",
        "11:24: error: upstreams[4].origin must start with https:// or http://",
        "12:42: error: upstreams[5].via has no effect: the origin is a unix socket",
        "12:55: error: upstreams[5].bind has no effect: the origin is a unix socket",
        "12:74: error: upstreams[5].address_family has no effect: the origin is a unix socket",
      ]),
    Mistake(
      "lists of origins",
      #"""
      upstreams:
        - {match: a, origin: []}
        - {match: b, origin: ["https://b1", "https://b2", "https://b3", "https://b4", "https://b5", "https://b6", "https://b7", "https://b8", "https://b9"]}
        - {match: c, origin: ["https://c1", "http://c2", "https://c3/v1", "https://C1:443", "https://c1:444"]}
        - {match: d, origin: ["https://d1/v1", "https://d2", "https://d3/v1/", "https://d4/v2"]}
        - {match: e, origin: ["https://e1", "unix:/run/e.sock"]}
        - {match: f, origin: [unix:/run/f.sock, "https://f1", "http://f2"]}
        - {match: g, origin: ["https://g1", "g2", "https://u:p@g3", "https://g4?x"]}
        - {match: h, origin: {url: "https://h"}}
        - {match: i, origin: [["https://i"]]}
      """#,
      [
        "3:24: error: upstreams[0].origin is empty",
        "4:24: error: upstreams[1].origin has more than 8 origins",
        "5:39: error: upstreams[2].origin[1] must be https://, as the first origin of the list is",
        "5:52: error: upstreams[2].origin[2] must have no path, as the first origin of the list has",
        "5:69: error: upstreams[2].origin[3] is in the list twice",
        "6:42: error: upstreams[3].origin[1] must have the path '/v1', as the first origin of the list has",
        "6:74: error: upstreams[3].origin[3] must have the path '/v1', as the first origin of the list has",
        "7:39: error: upstreams[4].origin[1] cannot be a unix socket: it stands in a list",
        "8:25: error: upstreams[5].origin[0] cannot be a unix socket: it stands in a list",
        "8:57: error: upstreams[5].origin[2] must be https://, as the first origin of the list is",
        "9:39: error: upstreams[6].origin[1] must start with https:// or http://",
        "9:45: error: upstreams[6].origin[2] must not contain a user or password",
        "9:63: error: upstreams[6].origin[3] must not have a query; the proxy keeps the app's",
        "10:24: error: upstreams[7].origin must be a text, not a mapping",
        "11:25: error: upstreams[8].origin[0] must be a text, not a list",
      ]),
    Mistake(
      "lists of origins",
      #"""
      upstreams:
        - {match: a, origin: []}
        - {match: b, origin: ["https://b1", "https://b2", "https://b3", "https://b4", "https://b5", "https://b6", "https://b7", "https://b8", "https://b9"]}
        - {match: c, origin: ["https://c1", "http://c2", "https://c3/v1", "https://C1:443", "https://c1:444"]}
        - {match: d, origin: ["https://d1/v1", "https://d2", "https://d3/v1/", "https://d4/v2"]}
        - {match: e, origin: ["https://e1", "unix:/run/e.sock"]}
        - {match: f, origin: [unix:/run/f.sock, "https://f1", "http://f2"]}
        - {match: g, origin: ["https://g1", "g2", "https://u:p@g3", "https://g4?x"]}
        - {match: h, origin: {url: "https://h"}}
        - {match: i, origin: [["https://i"]]}
      """#,
      [
        "3:24: error: upstreams[0].origin is empty",
        "4:24: error: upstreams[1].origin has more than 8 origins",
        "5:39: error: upstreams[2].origin[1] must be https://, as the first origin of the list is",
        "5:52: error: upstreams[2].origin[2] must have no path, as the first origin of the list has",
        "5:69: error: upstreams[2].origin[3] is in the list twice",
        "6:42: error: upstreams[3].origin[1] must have the path '/v1', as the first origin of the list has",
        "6:74: error: upstreams[3].origin[3] must have the path '/v1', as the first origin of the list has",
        "7:39: error: upstreams[4].origin[1] cannot be a unix socket: it stands in a list",
        "8:25: error: upstreams[5].origin[0] cannot be a unix socket: it stands in a list",
        "8:57: error: upstreams[5].origin[2] must be https://, as the first origin of the list is",
        "9:39: error: upstreams[6].origin[1] must start with https:// or http://",
        "9:45: error: upstreams[6].origin[2] must not contain a user or password",
        "9:63: error: upstreams[6].origin[3] must not have a query; the proxy keeps the app's",
        "10:24: error: upstreams[7].origin must be a text, not a mapping",
        "11:25: error: upstreams[8].origin[0] must be a text, not a list",
      ]),
    Mistake(
      "methods that no entry serves",
      #"""
      upstreams:
        - {match: a, methods: [GET, get, POTS, "G T", CONNECT, ""]}
        - {match: b, methods: []}
        - {match: c, methods: GET}
        - {match: d, methodes: [GET]}
      """#,
      [
        "3:31: error: upstreams[0].methods[1]: 'get' is no method that apps send (did you mean 'GET'?)",
        "3:36: error: upstreams[0].methods[2]: 'POTS' is no method that apps send (did you mean 'POST'?)",
        "3:42: error: upstreams[0].methods[3] must be an HTTP method, not 'G T'",
        "3:49: error: upstreams[0].methods[4]: no entry serves CONNECT; 'connect.allow' says where tunnels may go",
        "3:58: error: upstreams[0].methods[5] must be a text, not an empty one",
        "4:25: error: upstreams[1].methods is empty: the entry would serve no request",
        "5:25: error: upstreams[2].methods must be a list, not a text",
        "6:16: error: unknown key 'methodes' in upstreams[3] (did you mean 'methods'?)",
      ]),
    Mistake(
      "redirects that cannot be followed",
      #"""
      upstreams:
        - {match: a, redirects: follow}
        - {match: b, redirects: {follow: 0}}
        - {match: c, redirects: {follow: 21, methods: [GET, CONNECT, TRACE, get], tos: [x.test]}}
        - {match: d, redirects: {methods: []}}
        - {match: e, redirects: {follow: 5, to: ["*", "*:443", https://x.test/, x.test/y, plain, sokcet, clear, many]}}
        - {match: f, redirects: {follow: 5, to: [x.test, "x.test:443", e, e, "a.*.test", "x.test:0", "10.0.0.0/8"]}}
        - {match: g, redirects: []}
        - {match: socket, origin: unix:/run/a.sock}
        - {match: clear, origin: "http://clear.test", redirects: {follow: 1, to: [clear, socket]}}
        - {name: many, match: "*.many.test", origin: https://one.test}
        - {match: h, redirects: relay}
      """#,
      [
        "3:27: error: upstreams[0].redirects must be relay, not 'follow', or a section such as {follow: 5}",
        "4:36: error: upstreams[1].redirects.follow must be from 1 to 20, not '0'",
        "5:36: error: upstreams[2].redirects.follow must be from 1 to 20, not '21'",
        "5:55: error: upstreams[2].redirects.methods[1]: CONNECT opens a tunnel, and is never redirected",
        "5:64: error: upstreams[2].redirects.methods[2]: TRACE is for the server that it was sent to, and no redirect of it is followed",
        "5:71: error: upstreams[2].redirects.methods[3]: 'get' is no method that apps send (did you mean 'GET'?)",
        "5:77: error: unknown key 'tos' in upstreams[2].redirects (did you mean 'to'?)",
        "6:16: error: upstreams[3].redirects needs 'follow'",
        "6:37: error: upstreams[3].redirects.methods is empty; to follow no redirect, say 'redirects: relay'",
        "7:44: error: upstreams[4].redirects.to[0]: '*' would let an answer lead the proxy anywhere; list the hosts",
        "7:49: error: upstreams[4].redirects.to[1]: '*:443' would let an answer lead the proxy anywhere; list the hosts",
        "7:58: error: upstreams[4].redirects.to[2]: 'https://x.test/' must be a host without scheme and path; it is asked over https, whatever the path",
        "7:75: error: upstreams[4].redirects.to[3]: 'x.test/y' must be a host without scheme and path; it is asked over https, whatever the path",
        "7:85: error: upstreams[4].redirects.to[4]: there is no upstream named 'plain'",
        "7:92: error: upstreams[4].redirects.to[5]: there is no upstream named 'sokcet' (did you mean 'socket'?)",
        "7:100: error: upstreams[4].redirects.to[6]: upstream 'clear' has an http:// origin, and the proxy follows no redirect from https to http",
        "7:107: error: upstreams[4].redirects.to[7]: upstream 'many' serves many hosts, and one origin behind them: the proxy cannot tell by which of them to ask",
        "8:52: error: upstreams[5].redirects.to[1]: 'x.test:443' is there twice",
        "8:69: error: upstreams[5].redirects.to[3]: 'e' is there twice",
        "8:72: error: upstreams[5].redirects.to[4]: 'a.*.test' may have one '*', as its whole first label",
        "8:84: error: upstreams[5].redirects.to[5]: 'x.test:0' has port 0",
        "8:96: error: upstreams[5].redirects.to[6]: '10.0.0.0/8' must be a host without scheme and path; it is asked over https, whatever the path",
        "9:27: error: upstreams[6].redirects must be a mapping, not a list",
        "11:84: error: upstreams[8].redirects.to[1]: upstream 'socket' is behind a unix socket, to which no URL leads",
      ]),
    Mistake(
      "paths of origins that nobody could keep to",
      #"""
      upstreams:
        - {match: a, origin: https://a/v1/../v2}
        - {match: b, origin: https://b/%2e/v2}
        - {match: c, origin: https://c/v1//x}
        - {match: d, origin: https://d/v1%2fx}
        - {match: e, origin: "https://e/v1;x"}
        - {match: f, origin: https://f/%76}
        - {match: g, origin: "https://g/v1#x"}
        - {match: h, origin: "https://h?"}
        - {match: i, origin: https://i//}
        - {match: j, origin: "https://j/v1^"}
      """#,
      [
        "3:24: error: upstreams[0].origin has a path with an empty or dot segment, %2f or a backslash",
        "4:24: error: upstreams[1].origin has a path with an empty or dot segment, %2f or a backslash",
        "5:24: error: upstreams[2].origin has a path with an empty or dot segment, %2f or a backslash",
        "6:24: error: upstreams[3].origin has a path with an empty or dot segment, %2f or a backslash",
        "7:24: error: upstreams[4].origin has a path with a parameter (';'), which many servers cut off",
        "8:24: error: upstreams[5].origin has a path with an encoded letter, digit, '-', '_' or '~'; write it unencoded",
        "9:24: error: upstreams[6].origin must not have a fragment",
        "10:24: error: upstreams[7].origin must not have a query; the proxy keeps the app's",
        "11:24: error: upstreams[8].origin has a path with an empty or dot segment, %2f or a backslash",
        "12:24: error: upstreams[9].origin has a path with a character that paths cannot have",
      ]),
    Mistake(
      "a prefix that cannot be taken away",
      #"""
      upstreams:
        - {match: a, strip_prefix: true}
        - {match: b/v1, origin: https://b/v2, strip_prefix: true}
        - {match: [c/v1, "c:8080"], strip_prefix: true}
        - {match: d/v1, origin: https://d/, strip_prefix: true, strip_prefx: true}
        - {match: e, strip_prefix: false}
      """#,
      [
        "3:16: error: upstreams[0].strip_prefix cannot be true: upstreams[0].match at 3:13 has no path prefix",
        "4:41: error: upstreams[1].strip_prefix cannot be true: 'origin' has the path '/v2', which takes the place of the "
          + "match's prefix",
        "5:31: error: upstreams[2].strip_prefix cannot be true: upstreams[2].match[1] at 5:20 has no path prefix",
        "6:59: error: unknown key 'strip_prefx' in upstreams[3] (did you mean 'strip_prefix'?)",
      ]),
    Mistake(
      "rules for fields of the connection",
      #"""
      upstreams:
        - match: h
          request_headers:
            remove: [Host, expect, Content_Length, Transfer-Encoding, TE, via, "Proxy-*", Proxy-Status, "Con*", "*"]
            set: {Host: h, Connection: close, Proxy-Support: x, Max_Forwards: "1"}
          response_headers:
            remove: [Upgrade]
            set: {Content-Length: "0", Via: me}
      """#,
      [
        "5:16: error: upstreams[0].request_headers.remove[0]: 'Host' belongs to the connection, and the proxy itself writes it; "
          + "'origin' and 'host_header' say what is in it",
        "5:22: error: upstreams[0].request_headers.remove[1]: 'expect' belongs to the connection, and the proxy itself writes it",
        "5:30: error: upstreams[0].request_headers.remove[2]: 'Content_Length' belongs to the connection, and the proxy itself "
          + "writes it",
        "5:46: error: upstreams[0].request_headers.remove[3]: 'Transfer-Encoding' belongs to the connection, and the proxy itself "
          + "writes it",
        "5:65: error: upstreams[0].request_headers.remove[4]: 'TE' belongs to the connection, and the proxy itself writes it",
        "5:69: error: upstreams[0].request_headers.remove[5]: 'via' belongs to the connection, and the proxy itself writes it",
        "5:74: error: upstreams[0].request_headers.remove[6]: 'Proxy-*' covers 'proxy-authenticate', which belongs to the "
          + "connection; write more of the name",
        "5:85: error: upstreams[0].request_headers.remove[7]: 'Proxy-Status' belongs to the connection, and the proxy itself "
          + "writes it",
        "5:99: error: upstreams[0].request_headers.remove[8]: 'Con*' covers 'connection', which belongs to the connection; "
          + "write more of the name",
        "5:107: error: upstreams[0].request_headers.remove[9]: '*' covers 'connection', which belongs to the connection; write "
          + "more of the name",
        "6:13: error: upstreams[0].request_headers.set.Host: 'Host' belongs to the connection, and the proxy itself writes it; "
          + "'origin' and 'host_header' say what is in it",
        "6:22: error: upstreams[0].request_headers.set.Connection: 'Connection' belongs to the connection, and the proxy itself "
          + "writes it",
        "6:41: error: upstreams[0].request_headers.set.Proxy-Support: 'Proxy-Support' belongs to the connection, and the proxy "
          + "itself writes it",
        "6:59: error: upstreams[0].request_headers.set.Max_Forwards: 'Max_Forwards' belongs to the connection, and the proxy "
          + "itself writes it",
        "8:16: error: upstreams[0].response_headers.remove[0]: 'Upgrade' belongs to the connection, and the proxy itself writes it",
        "9:13: error: upstreams[0].response_headers.set.Content-Length: 'Content-Length' belongs to the connection, and the "
          + "proxy itself writes it",
        "9:34: error: upstreams[0].response_headers.set.Via: 'Via' belongs to the connection, and the proxy itself writes it",
      ]),
    Mistake(
      "rules for credentials",
      #"""
      credentials:
        key: {header: {name: X-Api-Key, value: {env: TOKEN}}}
      upstreams:
        - match: h
          credential: key
          request_headers: {remove: [x_api_key, "X-*"], set: {X-API-KEY: a, Authorization: Bearer s3cr3t, cookie: s3cr3t}}
          response_headers: {remove: ["X-*"], set: {Authorization: fine}}
      """#,
      [
        "7:32: error: upstreams[0].request_headers.remove[0]: 'x_api_key' is the field that credential 'key' writes; "
          + "'client_authorization' says what happens to the app's own",
        "7:43: error: upstreams[0].request_headers.remove[1]: 'X-*' covers 'X-Api-Key', which credential 'key' writes; "
          + "'client_authorization' says what happens to the app's own",
        "7:57: error: upstreams[0].request_headers.set.X-API-KEY: 'X-API-KEY' is the field that credential 'key' writes; "
          + "'client_authorization' says what happens to the app's own",
        "7:71: error: upstreams[0].request_headers.set.Authorization: 'Authorization' holds a secret; define it in "
          + "'credentials', and name it in the entry's 'credential'",
        "7:101: error: upstreams[0].request_headers.set.cookie: 'cookie' holds a secret; define it in 'credentials', and name "
          + "it in the entry's 'credential'",
      ]),
    Mistake(
      "rules for what a signature depends on",
      #"""
      credentials:
        s3: {sigv4: {service: s3, region: eu-west-1, access_key_id: A, secret_access_key: {env: TOKEN}}}
      upstreams:
        - match: h
          credential: s3
          request_headers: {remove: [X-Amz-Content-Sha256, "X-Amz-Dec*"], set: {x_amz_trailer: a}}
          response_headers: {remove: ["X-Amz-*"]}
      """#,
      [
        "7:32: error: upstreams[0].request_headers.remove[0]: 'X-Amz-Content-Sha256' is a field that credential 's3' reads: there "
          + "the app says how its body is signed",
        "7:54: error: upstreams[0].request_headers.remove[1]: 'X-Amz-Dec*' covers 'X-Amz-Decoded-Content-Length', which "
          + "credential 's3' reads: there the app says how its body is signed",
        "7:75: error: upstreams[0].request_headers.set.x_amz_trailer: 'x_amz_trailer' is a field that credential 's3' reads: "
          + "there the app says how its body is signed",
      ]),
    Mistake(
      "rules that are no fields",
      #"""
      upstreams:
        - match: h
          request_headers:
            remove: ["X Y", "X-*-Y", "X-**", ""]
            set:
              "A b": c
              X-Line: "a\r\nEvil: s3cr3t"
              X-Blank: " a"
              X-Client: "{clinet}"
              X-Open: "{client"
              X-App: a
              x_app: b
          response_headers: {set: {X-Line: "a\nb"}, remvoe: [a]}
      """#,
      [
        "5:16: error: upstreams[0].request_headers.remove[0] must be an HTTP field name, which may end in *, not 'X Y'",
        "5:23: error: upstreams[0].request_headers.remove[1] must be an HTTP field name, which may end in *, not 'X-*-Y'",
        "5:32: error: upstreams[0].request_headers.remove[2] must be an HTTP field name, which may end in *, not 'X-**'",
        "5:40: error: upstreams[0].request_headers.remove[3] must be a text, not an empty one",
        "7:9: error: upstreams[0].request_headers.set.A b: 'A b' is no HTTP field name",
        "8:17: error: upstreams[0].request_headers.set.X-Line contains a line break, or begins or ends with a space",
        "9:18: error: upstreams[0].request_headers.set.X-Blank contains a character that field values cannot have, or begins or "
          + "ends with a space",
        "10:19: error: upstreams[0].request_headers.set.X-Client: nothing fills the placeholder {clinet} (did you mean "
          + "'client'?); {{ stands for a brace",
        "11:17: error: upstreams[0].request_headers.set.X-Open: '{' has no '}'; {{ stands for a brace",
        "13:9: error: upstreams[0].request_headers.set.x_app: the field is already in 'set', in another spelling",
        "14:38: error: upstreams[0].response_headers.set.X-Line contains a line break, or begins or ends with a space",
        "14:47: error: unknown key 'remvoe' in upstreams[0].response_headers (did you mean 'remove'?)",
      ]),
  ]
}
