package hub_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite" // what the hub itself writes with

	"sessionhub/lib/hub/hubtest"
	"sessionhub/lib/hub/store"
	"sessionhub/lib/record"
)

const (
	// benchSenders is how many machines send side by side, for each processor.
	benchSenders = 32
	// benchSessions is how many sessions a machine runs.
	benchSessions = 3
)

func benchSnapshot(machine int) record.Snapshot {
	s := record.Snapshot{V: record.Version, At: record.At(time.Now()), HerdrSession: "default", HerdrVersion: "0.9.3", ToolsVersion: "bench"}
	for i := range benchSessions {
		s.Sessions = append(s.Sessions, record.LiveSession{
			Session: fmt.Sprintf("m%d-s%d", machine, i), Agent: "claude", PaneID: fmt.Sprintf("w1:p%d", i), WorkspaceID: "w1",
			AgentState: record.Working, Cwd: "/home/dev/Code/app", TitleHint: "Fix the parser",
			Git: &record.Git{Remote: "https://example.org/dev/app", Branch: "main", Head: "4f2d0c1"},
		})
	}
	return s
}

// BenchmarkHeartbeats stores heartbeats over HTTP, each from a machine of its
// own with a token of its own, and waits until each is on disk.
func BenchmarkHeartbeats(b *testing.B) {
	h := hubtest.Start(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1 << 10}}
	var machines atomic.Int64
	b.SetParallelism(benchSenders)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		n := int(machines.Add(1))
		token := h.AddToken(store.Token{Kind: store.KindMachine, Name: fmt.Sprintf("m%d", n)})
		for pb.Next() {
			body, err := json.Marshal(benchSnapshot(n))
			if err != nil {
				b.Error(err)
				return
			}
			req, err := http.NewRequest(http.MethodPut, h.URL+"/v1/machines/self/herdr-sessions", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := client.Do(req)
			if err != nil {
				b.Error(err)
				return
			}
			io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode != http.StatusOK {
				b.Errorf("status %d", res.StatusCode)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "heartbeats/s")
}

// BenchmarkBareInserts is what heartbeats are compared with: one process that
// does nothing but insert the same bytes, each insert durable by itself.
func BenchmarkBareInserts(b *testing.B) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE beats (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, body BLOB NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(benchSnapshot(1))
	if err != nil {
		b.Fatal(err)
	}
	insert, err := db.Prepare("INSERT INTO beats (at, body) VALUES (?, ?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	b.ResetTimer()
	for b.Loop() {
		if _, err := insert.Exec(time.Now().UnixMilli(), body); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "inserts/s")
}
