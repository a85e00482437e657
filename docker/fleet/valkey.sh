#!/bin/sh
# Starts Valkey with TLS alone and one user, who may do what the proxies do, and nothing else. The password is in no command line and in no
# environment.
set -eu
umask 077
digest=$(sha256sum < /run/secrets/store_password)
cat > /run/valkey/users.acl <<END
user default off
user authproxy on #${digest%% *} ~authproxy:* &authproxy:* -@all +@connection +get +set +del +eval +time +publish +subscribe +unsubscribe +wait +pubsub|numsub
END
cat > /run/valkey/valkey.conf <<END
port 0
tls-port 6379
tls-cert-file /tls/valkey.crt
tls-key-file /tls/valkey.key
tls-ca-cert-file /tls/ca.crt
tls-auth-clients no
aclfile /run/valkey/users.acl
dir /data
appendonly yes
appendfsync always
maxmemory-policy noeviction
maxclients 20000
END
exec valkey-server /run/valkey/valkey.conf
