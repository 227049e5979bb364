// Verifies receipts: verify receipt.json LOG_KEY [WITNESS_KEY...]. The log and each of these witnesses must have signed.
package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"golang.org/x/mod/sumdb/tlog"
	"os"
	"reflect"
	"strconv"
	"strings"
)

func signed(checkpoint, vkey string) (valid bool) {
	name, encoded, _ := strings.Cut(vkey, "+")
	key, _ := base64.StdEncoding.DecodeString(encoded[strings.Index(encoded, "+")+1:])
	text, lines, _ := strings.Cut(checkpoint, "\n\n")
	for _, line := range strings.Split(lines, "\n") {
		sig, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "— "+name+" "))
		message, length := text+"\n", 4+ed25519.SignatureSize
		if key[0] == 4 && len(sig) > 12 { // A witness signs the time too: C2SP tlog-cosignature.
			message, length = fmt.Sprintf("cosignature/v1\ntime %d\n%s", binary.BigEndian.Uint64(sig[4:]), message), 8+length
		}
		valid = valid || len(sig) == length && len(key) == 33 && ed25519.Verify(key[1:], []byte(message), sig[length-64:])
	}
	return valid
}

// read parses JSON; of a member that occurs twice, and of a number in another form, it returns nothing.
func read(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value func() any
	value = func() any {
		token, err := decoder.Token()
		if err != nil {
			panic(err)
		}
		switch token {
		case json.Delim('['):
			list := []any{}
			for decoder.More() {
				list = append(list, value())
			}
			decoder.Token()
			return list
		case json.Delim('{'):
			object := map[string]any{}
			for decoder.More() {
				name := value().(string)
				if _, twice := object[name]; twice {
					panic("the member " + name + " occurs twice")
				}
				object[name] = value()
			}
			decoder.Token()
			return object
		}
		return token
	}
	return value()
}

func main() {
	if info, err := os.Stat(os.Args[1]); err != nil || !info.Mode().IsRegular() || info.Size() > 1<<26 {
		fmt.Println("REFUSED: not a file of at most 64 MiB")
		os.Exit(1)
	}
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Println("REFUSED:", problem)
			os.Exit(1)
		}
	}()
	file, _ := os.ReadFile(os.Args[1])
	receipts, _ := read(file).(map[string]any)["receipts"].([]any)
	valid := len(receipts) > 0
	known := " record_id kind index payload payload_json salt commitment proof statement "
	for _, receipt := range receipts {
		shown := receipt.(map[string]any)
		number, _ := shown["index"].(json.Number)
		place, err := strconv.ParseUint(string(number), 10, 53)
		index := float64(place)
		head, checkpoint, _ := strings.Cut(fmt.Sprint(shown["proof"]), "\n\n")
		_, path, _ := strings.Cut(head, fmt.Sprintf("\nindex %.0f", index))
		hashes, _ := json.Marshal(strings.Fields(path))
		tree, _ := tlog.ParseTree([]byte(strings.Replace(checkpoint, strings.Split(os.Args[2], "+")[0], "go.sum database tree", 1)))
		salt, _ := hex.DecodeString(fmt.Sprint(shown["salt"]))
		payload := fmt.Sprint(shown["payload_json"])
		entry := sha256.Sum256([]byte("cstp/record/v2" + string(salt) + payload))
		proof := tlog.RecordProof{}
		said, _ := read([]byte(payload)).(map[string]any)
		fine := err == nil && json.Unmarshal(hashes, &proof) == nil
		for name := range shown {
			fine = fine && strings.Contains(known, " "+name+" ")
		}
		fine = fine && tlog.CheckRecord(proof, tree.N, tree.Hash, int64(index), tlog.RecordHash(entry[:])) == nil
		for _, key := range os.Args[2:] {
			fine = fine && signed(checkpoint, key)
		}
		fine = fine && said["record_id"] == shown["record_id"] && said["kind"] == shown["kind"]
		fine = fine && reflect.DeepEqual(said, shown["payload"])
		fmt.Printf("%s: entry %.0f, %s\n", map[bool]string{true: "valid", false: "REFUSED"}[fine], index, payload)
		valid = valid && fine
	}
	if !valid {
		os.Exit(1)
	}
}
