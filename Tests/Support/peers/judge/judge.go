// Says of servers on this machine whether they are who they claim to be: judge ROOTS NAME PORT...
// A line each: `accepted`, or `refused` and the reason.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

func main() {
	pem, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	for at := 2; at < len(os.Args); at += 2 {
		connection, err := tls.Dial("tcp", "127.0.0.1:"+os.Args[at+1], &tls.Config{RootCAs: roots, ServerName: os.Args[at]})
		if err != nil {
			fmt.Println("refused", err)
			continue
		}
		connection.Close()
		fmt.Println("accepted")
	}
}
