#!/bin/sh
# Says of servers on this machine whether they are who they claim to be: judge.sh openssl|gnutls ROOTS NAME PORT...
# A line each: `accepted`, or `refused` and the reason.
tool=$1
roots=$2
shift 2
while [ $# -gt 0 ]; do
  case $tool$1 in
    gnutls*) said=$(gnutls-cli --disable-sni --x509cafile "$roots" --verify-hostname "$1" --port "$2" 127.0.0.1 < /dev/null 2>&1) ;;
    openssl*:* | openssl*[0-9].[0-9]*)
      said=$(openssl s_client -connect "127.0.0.1:$2" -CAfile "$roots" -verify_return_error -verify_ip "$1" < /dev/null 2>&1) ;;
    *) said=$(openssl s_client -connect "127.0.0.1:$2" -CAfile "$roots" -verify_return_error -verify_hostname "$1" < /dev/null 2>&1) ;;
  esac && echo accepted || echo "refused $(echo "$said" | grep -i -E 'verif|error|status' | tr '\n' ' ')"
  shift 2
done
