// An app that asks for one URL: client URL [FILE]. It prints the body of the answer; with FILE it posts that.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	var answer *http.Response
	var err error
	if len(os.Args) > 2 {
		file, failed := os.Open(os.Args[2])
		if failed != nil {
			fail(failed)
		}
		answer, err = http.Post(os.Args[1], "application/octet-stream", file)
	} else {
		answer, err = http.Get(os.Args[1])
	}
	if err != nil {
		fail(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		fail(answer.Status)
	}
	if _, err := io.Copy(os.Stdout, answer.Body); err != nil {
		fail(err)
	}
}

func fail(what any) {
	fmt.Fprintln(os.Stderr, what)
	os.Exit(1)
}
