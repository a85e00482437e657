// Says of servers on this machine whether they are who they claim to be: node judge.js NAME PORT...
// A line each: `accepted`, or `refused` and the reason. The roots are those of the environment.
'use strict';
const tls = require('tls');

function judge(name, port) {
  return new Promise((resolve) => {
    const checkServerIdentity = (_, certificate) => tls.checkServerIdentity(name, certificate);
    const socket = tls.connect({host: '127.0.0.1', port, checkServerIdentity}, () => {
      resolve('accepted');
      socket.destroy();
    });
    socket.on('error', (error) => resolve(`refused ${error.message}`));
  });
}

(async () => {
  const words = process.argv.slice(2);
  for (let at = 0; at < words.length; at += 2) console.log(await judge(words[at], words[at + 1]));
})();
