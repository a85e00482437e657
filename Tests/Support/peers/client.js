// An app that asks for one URL: node client.js agent|fetch|https URL [FILE]. It prints the body of the answer; with FILE it posts that.
// `agent` is for Node before 24, which has no setting for a proxy: an agent that opens a tunnel. The others know their environment alone.
'use strict';
const fs = require('fs');
const http = require('http');
const https = require('https');
const tls = require('tls');

class ThroughProxy extends https.Agent {
  createConnection(options, done) {
    const proxy = new URL(process.env.https_proxy);
    const target = `${options.host}:${options.port}`;
    const headers = {host: target};
    if (proxy.username) {
      headers['proxy-authorization'] = 'Basic ' + Buffer.from(decodeURIComponent(`${proxy.username}:${proxy.password}`)).toString('base64');
    }
    http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: target, headers, agent: false})
      .on('connect', (answer, socket) => {
        if (answer.statusCode !== 200) return done(new Error(`CONNECT: ${answer.statusCode}`));
        done(null, tls.connect({socket, servername: options.host, ALPNProtocols: ['http/1.1']}));
      })
      .on('error', done)
      .end();
  }
}

function byRequest(url, body, agent) {
  return new Promise((resolve, reject) => {
    https.request(url, {method: body ? 'POST' : 'GET', agent}, (answer) => {
      const pieces = [];
      answer.on('data', (piece) => pieces.push(piece)).on('error', reject);
      answer.on('end', () => answer.statusCode === 200 ? resolve(Buffer.concat(pieces)) : reject(new Error(`status ${answer.statusCode}`)));
    }).on('error', reject).end(body);
  });
}

async function byFetch(url, body) {
  const answer = await fetch(url, {method: body ? 'POST' : 'GET', body});
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  return Buffer.from(await answer.arrayBuffer());
}

const [how, url, file] = process.argv.slice(2);
const body = file && fs.readFileSync(file);
const asked = how === 'fetch' ? byFetch(url, body) : byRequest(url, body, how === 'agent' ? new ThroughProxy() : undefined);
asked.then((bytes) => process.stdout.write(bytes), (error) => {
  console.error(error, error.cause || '');
  // Node 24 keeps a connection to a proxy that refused, and would wait for its end.
  process.exit(1);
});
