import Crypto
import Foundation
import TLS
import Testing

@testable import Interception

/// What other TLS stacks make of the constraints: each is asked where it is installed.
@Suite struct StackTests {
  /// Permitted host, host of the forged leaf, and whether it is to be accepted.
  private static let cases: [(permitted: String, host: String, isGood: Bool)] = [
    ("api.example.com", "api.example.com", true), ("api.example.com", "deep.api.example.com", true),
    ("api.example.com", "www.example.com", false), ("api.example.com", "bank.example", false),
    ("api.example.com", "192.0.2.7", false), ("api.example.com", "::1", false), ("192.0.2.7", "192.0.2.7", true),
    ("192.0.2.7", "192.0.2.8", false), ("192.0.2.7", "api.example.com", false), ("192.0.2.7", "::1", false),
    ("2001:db8::7", "2001:db8::7", true), ("2001:db8::7", "2001:db8::8", false), ("2001:db8::7", "192.0.2.7", false),
    ("2001:db8::7", "api.example.com", false),
  ]

  /// Writes every case as a folder `0`, `1`... with root.pem, chain.pem, key.pem and host.
  private func write(to path: String) throws {
    for (index, example) in Self.cases.enumerated() {
      let made = try authority(for: [example.permitted]).made
      let forged = try forgedLeaf(for: example.host, by: made)
      let folder = "\(path)/\(index)"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      for (name, bytes) in [
        ("root.pem", made.root.pem), ("chain.pem", forged.chain.flatMap(\.pem)), ("key.pem", try forged.key.pem()),
        ("host", Array(example.host.utf8)),
      ] {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      }
    }
  }

  /// One line a case: `good`, or `bad` and why.
  private func expectVerdicts(_ output: String) {
    let lines = output.split(separator: "\n").map(String.init).filter { $0.hasPrefix("good") || $0.hasPrefix("bad") }
    #expect(lines.count == Self.cases.count, "\(output)")
    for (example, line) in zip(Self.cases, lines) {
      #expect(line.hasPrefix(example.isGood ? "good" : "bad"), "\(example): \(line)")
    }
  }

  @Test(.enabled(if: onPath("node"))) func `Node obeys the constraints, and accepts what they permit`() throws {
    let script = """
      const fs = require('fs'), net = require('net'), tls = require('tls');
      const read = (i, name) => fs.readFileSync(`${process.argv[2]}/${i}/${name}`);
      (async () => {
        for (let i = 0; i < \(Self.cases.count); i++) {
          const host = read(i, 'host').toString();
          const server = tls.createServer({cert: read(i, 'chain.pem'), key: read(i, 'key.pem')});
          server.on('tlsClientError', () => {});
          await new Promise(done => server.listen(0, '127.0.0.1', done));
          console.log(await new Promise(done => {
            const socket = tls.connect({
              host: '127.0.0.1', port: server.address().port, ca: read(i, 'root.pem'),
              servername: net.isIP(host) ? undefined : host,
              checkServerIdentity: (name, certificate) => tls.checkServerIdentity(host, certificate)});
            socket.on('secureConnect', () => { socket.destroy(); done('good'); });
            socket.on('error', error => done('bad ' + error.code));
          }));
          server.close();
        }
      })();
      """
    try withFolder { path in
      try write(to: path)
      try script.write(toFile: "\(path)/verify.js", atomically: true, encoding: .utf8)
      expectVerdicts(try run("node", ["\(path)/verify.js", path]))
    }
  }

  @Test(.enabled(if: onPath("javac"))) func `Java obeys the constraints, and accepts what they permit`() throws {
    let program = """
      import java.io.*; import java.nio.file.*; import java.security.*; import java.security.cert.*; import java.util.*;
      import javax.net.ssl.*;
      public class Verify {
        static X509Certificate[] read(Path path) throws Exception {
          try (InputStream in = Files.newInputStream(path)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in).toArray(new X509Certificate[0]);
          }
        }
        public static void main(String[] words) throws Exception {
          for (int i = 0; i < \(Self.cases.count); i++) {
            Path folder = Path.of(words[0], "" + i);
            KeyStore store = KeyStore.getInstance("JKS");
            store.load(null, null);
            store.setCertificateEntry("root", read(folder.resolve("root.pem"))[0]);
            TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
            factory.init(store);
            X509TrustManager manager = (X509TrustManager) factory.getTrustManagers()[0];
            try {
              manager.checkServerTrusted(read(folder.resolve("chain.pem")), "UNKNOWN");
              System.out.println("good");
            } catch (CertificateException error) {
              System.out.println("bad " + error.getMessage());
            }
          }
        }
      }
      """
    try withFolder { path in
      try write(to: path)
      try program.write(toFile: "\(path)/Verify.java", atomically: true, encoding: .utf8)
      expectVerdicts(try run("java", ["\(path)/Verify.java", path]))
    }
  }

  @Test(.enabled(if: onPath("certtool"))) func `GnuTLS obeys the constraints, and accepts what they permit`() throws {
    try withFolder { path in
      try write(to: path)
      let lines = try Self.cases.indices.map { index in
        let folder = "\(path)/\(index)"
        let output = try run(
          "certtool",
          [
            "--verify", "--load-ca-certificate=\(folder)/root.pem", "--infile=\(folder)/chain.pem",
            "--verify-hostname=\(Self.cases[index].host)",
          ])
        return output.contains("Chain verification output: Verified.") ? "good" : "bad"
      }
      expectVerdicts(lines.joined(separator: "\n"))
    }
  }
}
