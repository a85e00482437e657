// An app with minio-go (Debian has it) and keys that mean nothing: uploads in signed chunks (STREAMING-AWS4-HMAC-SHA256-PAYLOAD). `http_proxy` is the way
// to the store. Prints what worked, one word a line.
//
//	minio_app HOST
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

func upload(name string, size int, hasTrailer bool, options minio.PutObjectOptions) {
	client, err := minio.New(os.Args[1], &minio.Options{
		Creds: credentials.NewStaticV4("DUMMY", "DUMMY", "DUMMY"), Region: "eu-central-1", TrailingHeaders: hasTrailer,
	})
	if err == nil {
		body := bytes.NewReader(bytes.Repeat([]byte("0123456789abcdef"), size/16))
		_, err = client.PutObject(context.Background(), "bucket", name, body, int64(size), options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		os.Exit(1)
	}
	fmt.Println(name)
}

func main() {
	upload("small", 16, false, minio.PutObjectOptions{})
	upload("large", 1<<20+4096, false, minio.PutObjectOptions{})
	// It sends trailers with parts only: two of them here.
	upload("trailer", 6<<20, true, minio.PutObjectOptions{PartSize: 5 << 20, NumThreads: 1})
}
