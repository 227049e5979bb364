// Go's own libraries of the checksum database as judges: golang.org/x/mod/sumdb/note and tlog know nothing of this project.
//
//	check <dir>                      logs of many sizes: cases.ndjson with checkpoints and proofs, and the tiles of all of them
//	key                              a new log's key, as JSON
//	witness <url> <vkey> <skey>      a log that sends its checkpoints to a witness
//
// What holds and what is refused is counted in JSON on stdout; whatever should be one and is the other ends the program.
package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var counts = map[string]int{}

func holds(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: should hold: %v\n", what, err)
		os.Exit(1)
	}
	counts[what]++
}

func refused(what string, err error) {
	if err == nil {
		fmt.Fprintf(os.Stderr, "%s: should be refused\n", what)
		os.Exit(1)
	}
	counts[what]++
}

func hash(text string) (h tlog.Hash) {
	bytes, err := hex.DecodeString(text)
	if err != nil || len(bytes) != tlog.HashSize {
		panic("not a hash: " + text)
	}
	copy(h[:], bytes)
	return
}

func hashes(texts []string) (list []tlog.Hash) {
	for _, text := range texts {
		list = append(list, hash(text))
	}
	return
}

// cosigner verifies C2SP tlog-cosignature v1, which x/mod does not know.
type cosigner struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

func (c cosigner) Name() string    { return c.name }
func (c cosigner) KeyHash() uint32 { return c.id }
func (c cosigner) Verify(text, sig []byte) bool {
	if len(sig) != 8+ed25519.SignatureSize {
		return false
	}
	head := fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(sig))
	return ed25519.Verify(c.key, append([]byte(head), text...), sig[8:])
}

func newCosigner(vkey string) cosigner {
	parts := strings.SplitN(vkey, "+", 3)
	id, err := hex.DecodeString(parts[1])
	key, err2 := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || err2 != nil || key[0] != 4 {
		panic("not the key of a witness: " + vkey)
	}
	return cosigner{parts[0], binary.BigEndian.Uint32(id), key[1:]}
}

// checkpoint is three lines: origin, size, root.
func checkpoint(text string) tlog.Tree {
	lines := strings.Split(text, "\n")
	var tree tlog.Tree
	if _, err := fmt.Sscan(lines[1], &tree.N); err != nil {
		panic(err)
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil {
		panic(err)
	}
	copy(tree.Hash[:], root)
	return tree
}

type inclusion struct {
	Index  int64
	Entry  string
	Hashes []string
}
type consistency struct {
	Old     int64
	OldRoot string `json:"old_root"`
	Hashes  []string
}
type log struct {
	Note        string
	VerifierKey string `json:"verifier_key"`
	WitnessKey  string `json:"witness_key"`
	Inclusion   []inclusion
	Consistency []consistency
}

// tiles reads the files of tlog-tiles where x/mod expects those of the checksum database, whose paths name the height.
type tiles struct{ dir string }

func (t tiles) Height() int                      { return 8 }
func (t tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (t tiles) ReadTiles(wanted []tlog.Tile) (data [][]byte, err error) {
	for _, tile := range wanted {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		bytes, err := os.ReadFile(filepath.Join(t.dir, path))
		if err != nil {
			return nil, err
		}
		data = append(data, bytes)
	}
	return
}

func checkLog(one log, dir string) {
	verifier, err := note.NewVerifier(one.VerifierKey)
	holds("key", err)
	verifiers := []note.Verifier{verifier}
	if one.WitnessKey != "" {
		verifiers = append(verifiers, newCosigner(one.WitnessKey))
	}
	opened, err := note.Open([]byte(one.Note), note.VerifierList(verifiers...))
	holds("checkpoint", err)
	if len(opened.Sigs) != len(verifiers) {
		refused("checkpoint", nil)
	}
	tree := checkpoint(opened.Text)
	forged := strings.Replace(one.Note, fmt.Sprintf("\n%d\n", tree.N), fmt.Sprintf("\n%d\n", tree.N+1), 1)
	_, err = note.Open([]byte(forged), note.VerifierList(verifiers...))
	refused("forged checkpoint", err)

	reader := tlog.TileHashReader(tree, tiles{dir})
	for _, p := range one.Inclusion {
		entry := hash(p.Entry)
		leaf := tlog.RecordHash(entry[:])
		proof := tlog.RecordProof(hashes(p.Hashes))
		holds("inclusion", tlog.CheckRecord(proof, tree.N, tree.Hash, p.Index, leaf))
		entry[3] ^= 1
		refused("forged entry", tlog.CheckRecord(proof, tree.N, tree.Hash, p.Index, tlog.RecordHash(entry[:])))
		refused("forged index", tlog.CheckRecord(proof, tree.N, tree.Hash, p.Index^1, leaf))
		own, err := tlog.ProveRecord(tree.N, p.Index, reader)
		holds("tiles", err)
		if fmt.Sprint(own) != fmt.Sprint(proof) {
			refused("proof from tiles", nil)
		}
		stored, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, p.Index)})
		holds("tiles", err)
		if stored[0] != leaf {
			refused("leaf from tiles", nil)
		}
	}
	for _, p := range one.Consistency {
		proof := tlog.TreeProof(hashes(p.Hashes))
		root := hash(p.OldRoot)
		holds("consistency", tlog.CheckTree(proof, tree.N, tree.Hash, p.Old, root))
		root[9] ^= 1
		refused("forged root", tlog.CheckTree(proof, tree.N, tree.Hash, p.Old, root))
		own, err := tlog.ProveTree(tree.N, p.Old, reader)
		holds("tiles", err)
		if fmt.Sprint(own) != fmt.Sprint(proof) {
			refused("proof from tiles", nil)
		}
	}
}

func check(dir string) {
	file, err := os.Open(filepath.Join(dir, "cases.ndjson"))
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<26)
	for lines.Scan() {
		var one log
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			panic(err)
		}
		checkLog(one, dir)
	}
	if lines.Err() != nil {
		panic(lines.Err())
	}
}

// history is a log as x/mod keeps one.
type history struct{ stored []tlog.Hash }

func (h *history) ReadHashes(indexes []int64) (list []tlog.Hash, err error) {
	for _, index := range indexes {
		list = append(list, h.stored[index])
	}
	return
}

func grow(size int64, salt string) *history {
	h := &history{}
	for n := int64(0); n < size; n++ {
		more, err := tlog.StoredHashes(n, []byte(fmt.Sprint(salt, n)), h)
		if err != nil {
			panic(err)
		}
		h.stored = append(h.stored, more...)
	}
	return h
}

func send(url, witness string, signer note.Signer, h *history, old, size int64) (int, string, string) {
	root, err := tlog.TreeHash(size, h)
	if err != nil {
		panic(err)
	}
	text := fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), size, root)
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		panic(err)
	}
	var body bytes.Buffer
	fmt.Fprintf(&body, "old %d\n", old)
	if old > 0 && old <= size {
		proof, err := tlog.ProveTree(size, old, h)
		if err != nil {
			panic(err)
		}
		for _, one := range proof {
			fmt.Fprintln(&body, one)
		}
	}
	fmt.Fprintf(&body, "\n%s", signed)
	response, err := http.Post(url+"/add-checkpoint", "text/plain", &body)
	if err != nil {
		panic(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		panic(err)
	}
	if response.StatusCode == 200 {
		opened, err := note.Open(append(signed, answer...), note.VerifierList(newCosigner(witness)))
		holds("cosignature", err)
		if opened.Text != text {
			refused("cosignature", nil)
		}
	}
	return response.StatusCode, response.Header.Get("Content-Type"), string(answer)
}

func witness(url, vkey, skey string) {
	signer, err := note.NewSigner(skey)
	if err != nil {
		panic(err)
	}
	right, fork := grow(600, "entry"), grow(600, "other")
	old := int64(0)
	for size := int64(1); size <= 600; size += 1 + size/3 {
		if status, _, answer := send(url, vkey, signer, right, old, size); status != 200 {
			refused("step: "+answer, nil)
		}
		if status, _, _ := send(url, vkey, signer, fork, size, size+1); status != 422 {
			refused("fork", nil)
		}
		counts["fork"]++
		status, kind, answer := send(url, vkey, signer, right, 0, size)
		if status != 409 || kind != "text/x.tlog.size" || answer != fmt.Sprintln(size) {
			refused("conflict", nil)
		}
		counts["conflict"]++
		old = size
	}
	for name, expected := range map[string]int{signer.Name(): 403, "another.example/log": 404} {
		skey, _, err := note.GenerateKey(rand.Reader, name)
		if err != nil {
			panic(err)
		}
		stranger, err := note.NewSigner(skey)
		if err != nil {
			panic(err)
		}
		if status, _, _ := send(url, vkey, stranger, right, old, 600); status != expected {
			refused("stranger", nil)
		}
		counts["stranger"]++
	}
}

func main() {
	switch os.Args[1] {
	case "check":
		check(os.Args[2])
	case "key":
		skey, vkey, err := note.GenerateKey(rand.Reader, "go.example/log")
		if err != nil {
			panic(err)
		}
		json.NewEncoder(os.Stdout).Encode(map[string]string{"skey": skey, "vkey": vkey})
		return
	case "witness":
		witness(os.Args[2], os.Args[3], os.Args[4])
	}
	json.NewEncoder(os.Stdout).Encode(counts)
}
