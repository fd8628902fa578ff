package main

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"sessionhub/lib/bundle"
	"sessionhub/lib/record"
	"sessionhub/lib/seal"
)

const (
	bundleEnv   = "SHBENCH_BUNDLE" // VERB DIR: this process packs or opens
	bundleSize  = 1 << 30
	bundleFiles = 64
	bundleRuns  = 3
	mib         = 1 << 20
)

// bundles packs and seals a session of 1 GiB, and opens and verifies it, each
// in a process of its own, beside pipes of stock tools on the same cores.
func (b *bench) bundles() error {
	for _, tool := range []string{"tar", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: install it, as the bundle is compared with it", tool)
		}
	}
	age := filepath.Join(b.dir, "age")
	if out, err := exec.Command("go", "build", "-o", age, "filippo.io/age/cmd/age").CombinedOutput(); err != nil {
		return fmt.Errorf("age: %w: %s", err, out)
	}
	if err := writeMix(filepath.Join(b.dir, "untracked")); err != nil {
		return err
	}
	keys, err := seal.Load(b.dir)
	if err != nil {
		return err
	}
	recipients := filepath.Join(b.dir, "recipient")
	if err := os.WriteFile(recipients, []byte(keys.Public.Recipient+"\n"), 0o600); err != nil {
		return err
	}
	pack := "tar -c untracked | zstd -q -3 | ./age -R recipient -o stock.age"
	open := "./age -d -i move.key stock.age | zstd -q -d | tar -t >/dev/null"
	if err := b.beside("write + seal", "pack", pack, "ours.age", "stock.age"); err != nil {
		return err
	}
	return b.beside("open + verify", "open", open, "", "")
}

// ran is what one way took.
type ran struct {
	took, cpu times
	rss       int64
}

func (r *ran) run(cmd *exec.Cmd) error {
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, out)
	}
	r.took = append(r.took, time.Since(began))
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.cpu = append(r.cpu, time.Duration(u.Utime.Nano()+u.Stime.Nano())) // with its children's
		r.rss = max(r.rss, u.Maxrss<<10)                                    // of sh: its largest child's
	}
	return nil
}

func (r *ran) rate() float64 { return bundleSize / mib / r.took.at(0.5).Seconds() }

func (b *bench) beside(what, verb, pipe, ourFile, stockFile string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var ours, stock ran
	for range bundleRuns { // in turns, so that both see the same machine
		for _, f := range []string{ourFile, stockFile} {
			if f != "" {
				os.Remove(filepath.Join(b.dir, f)) // the first time there is none
			}
		}
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), bundleEnv+"="+verb+" "+b.dir)
		if err := ours.run(cmd); err != nil {
			return err
		}
		sh := exec.Command("sh", "-ec", pipe)
		sh.Dir = b.dir
		if err := stock.run(sh); err != nil {
			return err
		}
	}
	sizes := ""
	if ourFile != "" {
		var size [2]int64
		for i, f := range []string{ourFile, stockFile} {
			st, err := os.Stat(filepath.Join(b.dir, f))
			if err != nil {
				return err
			}
			size[i] = st.Size() / mib
		}
		sizes = fmt.Sprintf("; sealed %d MiB, theirs %d MiB", size[0], size[1])
	}
	say("%-14s %5.0f MiB/s, %.1f s CPU, RSS %d MiB; stock tools %5.0f MiB/s, %.1f s CPU, RSS of the largest %d MiB: %.2f × their speed%s",
		what, ours.rate(), ours.cpu.at(0.5).Seconds(), ours.rss/mib, stock.rate(), stock.cpu.at(0.5).Seconds(), stock.rss/mib, ours.rate()/stock.rate(), sizes)
	return nil
}

// packOrOpen is the process that is measured.
func packOrOpen(spec string) error {
	debug.SetGCPercent(25) // as shmove does
	verb, dir, _ := strings.Cut(spec, " ")
	keys, err := seal.Load(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "ours.age")
	if verb == "pack" {
		return packMix(dir, path, keys)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	plain, err := keys.Open(f)
	if err != nil {
		return err
	}
	_, err = bundle.Check(plain, bundle.Options{Verify: seal.By(keys.Public.Signer), Recipient: keys.Public.Recipient, Limit: 2 * bundleSize})
	return err
}

func packMix(dir, path string, keys *seal.Keys) error {
	files, err := mixFiles(dir)
	if err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	sealed, err := seal.Seal(out, keys.Public.Recipient)
	if err != nil {
		return err
	}
	m := record.Manifest{
		V: record.Version, Move: "bench", Session: "bench", From: "tower", Recipient: keys.Public.Recipient, At: record.At(time.Now()), Claude: "2",
		Git: record.ManifestGit{Remote: "r", Branch: "main", Head: "0", Top: "/w"}, Dir: ".", Cwd: "/w",
	}
	keys.Bind(&m)
	if _, err := bundle.Write(sealed, m, files, 2*bundleSize, keys.Sign); err != nil {
		return err
	}
	return sealed.Close()
}

func mixFiles(dir string) ([]bundle.File, error) {
	list, err := os.ReadDir(filepath.Join(dir, "untracked"))
	if err != nil {
		return nil, err
	}
	var files []bundle.File
	for _, e := range list {
		name := "untracked/" + e.Name()
		files = append(files, bundle.File{Name: name, Mode: fs.FileMode(0o600), Open: func() (io.ReadCloser, error) { return os.Open(filepath.Join(dir, name)) }})
	}
	return files, nil
}

// writeMix writes files of what sessions carry: three quarters text, of words
// that come as often as words do, a quarter what can't be compressed.
func writeMix(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	words := make([]string, 20_000)
	for i := range words {
		b := make([]byte, 2+r.IntN(9))
		for j := range b {
			b[j] = byte('a' + r.IntN(26))
		}
		words[i] = string(b)
	}
	zipf := rand.NewZipf(r, 1.1, 3, uint64(len(words)-1))
	noise := rand.NewChaCha8([32]byte{1})
	for i := range bundleFiles {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("f%02d", i)))
		if err != nil {
			return err
		}
		if i%4 == 0 {
			_, err = io.CopyN(f, noise, bundleSize/bundleFiles)
		} else {
			err = writeWords(f, bundleSize/bundleFiles, words, zipf)
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func writeWords(f io.Writer, size int, words []string, zipf *rand.Zipf) error {
	w := bufio.NewWriterSize(f, mib)
	for n := 0; n < size; {
		word := words[zipf.Uint64()]
		if n%80 > 72 {
			word += "\n"
		} else {
			word += " "
		}
		k, err := w.WriteString(word[:min(len(word), size-n)])
		if err != nil {
			return err
		}
		n += k
	}
	return w.Flush()
}
