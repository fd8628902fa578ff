package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sessionhub/cmd/internal/front"
)

// served runs `shhub serve` and returns its address and how to end it; end
// returns the exit status.
func served(t *testing.T, args ...string) (addr string, end func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- tool().Run(ctx, front.Env{Args: append([]string{"serve", "--listen", "127.0.0.1:0"}, args...),
			Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: w, Getenv: os.Getenv})
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		t.Fatal("no word from the hub")
	}
	addr = regexp.MustCompile(`https?://(\S+)`).FindStringSubmatch(lines.Text())[1]
	go func() {
		for lines.Scan() {
			t.Log(lines.Text())
		}
	}()
	ended := false
	end = func() int {
		if ended {
			return 0
		}
		ended = true
		cancel()
		return <-code
	}
	t.Cleanup(func() { end() })
	return addr, end
}

// certificate writes a key and a certificate for 127.0.0.1.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, pool
}

func TestServeTLS(t *testing.T) {
	cert, key, pool := certificate(t)
	addr, end := served(t, "--db", filepath.Join(t.TempDir(), "h.db"), "--tls-cert", cert, "--tls-key", key)
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
	defer c.CloseIdleConnections()
	res, err := c.Get("https://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
	if code := end(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// SIGTERM cuts no request: one that is half sent is answered.
func TestServeDrains(t *testing.T) {
	db := filepath.Join(t.TempDir(), "h.db")
	var token strings.Builder
	if code := tool().Run(t.Context(), front.Env{Args: []string{"token", "add", "--machine", "tower", "--db", db},
		Stdin: strings.NewReader(""), Stdout: &token, Stderr: io.Discard, Getenv: os.Getenv}); code != 0 {
		t.Fatalf("token: exit %d", code)
	}
	addr, end := served(t, "--db", db)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := `{"cwd":"/src"}`
	fmt.Fprintf(conn, "PUT /v1/sessions/aaaa-1 HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		strings.TrimSpace(token.String()), len(body))
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "100 Continue") { // it is under way
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	go func() { ended <- end() }()
	// The listener is closed at once; the request is not.
	for limit := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		probe, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		probe.Close()
		if time.Now().After(limit) {
			t.Fatal("the hub still listens")
		}
	}
	if _, err := io.WriteString(conn, body); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("the request was cut: %v, %v", res, err)
	}
	if code := <-ended; code != 0 {
		t.Errorf("exit %d", code)
	}
}
