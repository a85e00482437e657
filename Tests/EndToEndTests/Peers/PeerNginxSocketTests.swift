import Foundation
import Testing

/// nginx behind a unix socket.
@Suite struct PeerNginxSocketTests {
  @Test(.needs("nginx")) func `nginx behind a unix socket serves requests, bodies and redirects`() throws {
    let folder = try Surroundings.newFolder()
    let configuration = """
      daemon off;
      pid \(folder)/pid;
      error_log stderr notice;
      user root;
      events {}
      http {
        access_log off;
        client_body_temp_path \(folder)/body;
        proxy_temp_path \(folder)/proxy;
        fastcgi_temp_path \(folder)/fastcgi;
        uwsgi_temp_path \(folder)/uwsgi;
        scgi_temp_path \(folder)/scgi;
        client_max_body_size 0;
        server {
          listen unix:\(folder)/nginx.sock;
          location / { return 200 "$host $request_uri $http_authorization"; }
          location /away { return 302 /back?a; }
          location /put/ { root \(folder); dav_methods PUT; create_full_put_path on; }
        }
      }
      """
    try ProxyProcess.write(configuration, to: folder + "/nginx.conf")
    let command = "exec nginx -p \(folder) -c \(folder)/nginx.conf -e stderr 2>&1"
    let nginx = try ChildProcess("sh", ["-c", command])
    defer { nginx.signal(SIGTERM) }
    guard nginx.awaitLine(where: { $0.contains("start worker process ") }) != nil else {
      throw HarnessError("nginx: \(nginx.output)")
    }
    let proxied = """
      upstreams:
        - {match: nginx.test, origin: "unix:\(folder)/nginx.sock", credential: api}
      credentials:
        api: {bearer: {token: \(Configuration.token)}}
      """
    try withProxy(proxied) { proxy throws in
      #expect(try proxy.ask("http://nginx.test/x?y").text == "localhost /x?y Bearer \(Configuration.token)")
      #expect(try proxy.ask("http://nginx.test/away")["Location"] == "http://nginx.test/back?a")
      let body = String(repeating: "0123456789", count: 100_000)
      #expect(try proxy.ask("PUT", "http://nginx.test/put/x", body: body).status == 201)
      #expect(try proxy.ask("http://nginx.test/put/x").text == body)
    }
    #expect(nginx.ending == nil, "\(nginx.output)")
  }
}
