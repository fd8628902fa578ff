package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"sessionhub/lib/claude"
	"sessionhub/lib/digest"
	"sessionhub/lib/record"
	"sessionhub/lib/state"
)

// digestAppends is how often 1 KiB is appended and digested.
const digestAppends = 200

// digest reads transcripts of two sizes for the first time, beside jq that
// reads them for one key, and then what is appended to them.
func (b *bench) digest() error {
	if _, err := exec.LookPath("jq"); err != nil {
		return fmt.Errorf("jq is missing: install it, as the digest is compared with it")
	}
	home := claude.Home(filepath.Join(b.dir, ".claude"))
	if err := os.MkdirAll(home.Project("/w"), 0o700); err != nil {
		return err
	}
	var small time.Duration
	for _, mib := range []int64{10, 200} {
		ref := digest.Ref{Session: fmt.Sprint("s", mib), Cwd: "/w"}
		path := filepath.Join(home.Project("/w"), ref.Session+".jsonl")
		if err := writeTranscript(path, mib<<20); err != nil {
			return err
		}
		dir := state.Dir(filepath.Join(b.dir, fmt.Sprint("state", mib)))
		if err := dir.Ensure(); err != nil {
			return err
		}
		var d *digest.Digester
		var first record.Digest
		var jq, ours times
		for range 3 { // in turns, so that both see the same machine
			began := time.Now()
			if err := exec.Command("jq", "-c", ".type", path).Run(); err != nil {
				return fmt.Errorf("jq: %w", err)
			}
			jq = append(jq, time.Since(began))
			d = &digest.Digester{Dir: dir, Home: home}
			began = time.Now()
			var err error
			if first, err = d.Digest(context.Background(), ref); err != nil {
				return err
			}
			ours = append(ours, time.Since(began))
		}
		if err := d.Good(ref); err != nil {
			return err
		}
		more, err := appended(d, ref, path)
		if err != nil {
			return err
		}
		m, mjq := ours.at(0.5), jq.at(0.5)
		say("%4d MiB, %4d turns    first %7.1f ms (%.0f MiB/s); jq -c .type %5.0f ms = %.1f × ours", mib, first.Turns,
			float64(m.Microseconds())/1000, float64(first.Size>>20)/m.Seconds(), float64(mjq.Milliseconds()), float64(mjq)/float64(m))
		say("  after 1 KiB more      median %s, p99 %s", ms(more.at(0.5)), ms(more.at(0.99)))
		if small == 0 {
			small = more.at(0.5)
		} else {
			say("  of 10 MiB's           %.2f ×", float64(more.at(0.5))/float64(small))
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// appended times digests after 1 KiB more each.
func appended(d *digest.Digester, ref digest.Ref, path string) (times, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	line := fmt.Sprintf(`{"type":"user","message":{"role":"user","content":"%0*d"},"origin":{"kind":"human"}}`, 940, 7)
	var t times
	for range digestAppends {
		if _, err := f.WriteString(line + "\n"); err != nil {
			return nil, err
		}
		began := time.Now()
		if len(d.Changed([]digest.Ref{ref})) != 1 {
			return nil, fmt.Errorf("%s is not seen as changed", ref.Session)
		}
		if _, err := d.Digest(context.Background(), ref); err != nil {
			return nil, err
		}
		t = append(t, time.Since(began))
		if err := d.Good(ref); err != nil {
			return nil, err
		}
	}
	return t, nil
}
