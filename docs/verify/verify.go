// Verifies receipts with Go's standard library alone: go run verify.go receipt.json LOG_KEY [N WITNESS_KEY...]
package main

import ("bytes"; "crypto/ed25519"; "crypto/sha256"; "encoding/base64"; "encoding/binary"; "encoding/hex"; "encoding/json"; "fmt"; "os"; "sort"; "strconv"; "strings"; "unicode/utf16")

func need(holds bool, what string) { if !holds { fmt.Println("REFUSED:", what); os.Exit(1) } }
func get[T any](value T, err error) T { need(err == nil, fmt.Sprint(err)); return value }
func sum(parts ...[]byte) []byte { h := sha256.Sum256(bytes.Join(parts, nil)); return h[:] }
func base(text string) []byte { return get(base64.StdEncoding.DecodeString(text)) }

var plain = strings.NewReplacer(`\\`, `\\`, `\u0008`, `\b`, `\u000c`, `\f`, `\u2028`, "\u2028", `\u2029`, "\u2029")
func units(text string) string { return strings.Trim(fmt.Sprintf("%04x", utf16.Encode([]rune(text))), "[]") }
func canonical(value any) string { // RFC 8785; numbers stay as they are written, which is canonical
	var parts []string
	switch v := value.(type) {
	case map[string]any:
		for key := range v { parts = append(parts, key) }
		sort.Slice(parts, func(i, j int) bool { return units(parts[i]) < units(parts[j]) })
		for i, key := range parts { parts[i] = canonical(key) + ":" + canonical(v[key]) }
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		for _, one := range v { parts = append(parts, canonical(one)) }
		return "[" + strings.Join(parts, ",") + "]"
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	need(encoder.Encode(value) == nil, "the payload is not JSON")
	return plain.Replace(strings.TrimSpace(text.String()))
}
func climb(node []byte, at, last int, path []string) []byte { // RFC 9162, section 2.1.3.2
	for _, line := range path {
		need(last > 0, "the path is too long")
		left := at%2 == 1 || at == last
		if left { node = sum([]byte{1}, base(line), node) } else { node = sum([]byte{1}, node, base(line)) }
		for left && at%2 == 0 { at, last = at/2, last/2 }
		at, last = at/2, last/2
	}
	need(last == 0, "the path is too short")
	return node
}
func signed(note, key string) bool { // C2SP signed-note, tlog-cosignature
	gap, parts := strings.LastIndex(note, "\n\n"), strings.SplitN(key, "+", 3)
	raw := base(parts[2])
	id := sum([]byte(parts[0]+"\n"), raw)[:4]
	need(hex.EncodeToString(id) == parts[1] && len(raw) == 33, "a key is malformed")
	for _, line := range strings.Split(strings.TrimSpace(note[gap:]), "\n") {
		words := strings.Split(line, " ")
		signature, message := base(words[2]), note[:gap+1]
		if words[1] != parts[0] || !bytes.Equal(signature[:4], id) { continue }
		if raw[0] == 4 { message = fmt.Sprintf("cosignature/v1\ntime %d\n", binary.BigEndian.Uint64(signature[4:12])) + message; signature = signature[8:] }
		need(len(signature) == 68 && ed25519.Verify(raw[1:], []byte(message), signature[4:]), "the signature of "+parts[0]+" is wrong")
		return true
	}
	return false
}

type receipt struct { Record_id, Kind, Salt, Proof string; Index int; Payload map[string]any }
func check(r receipt, log string, witnesses []string, needed int) {
	gap := strings.Index(r.Proof, "\n\n")
	lines, note := strings.Split(r.Proof[:gap], "\n"), r.Proof[gap+2:]
	if strings.HasPrefix(lines[1], "extra ") { lines = append(lines[:1], lines[2:]...) }
	checkpoint := strings.Split(note, "\n")
	size, cosigned := get(strconv.Atoi(checkpoint[1])), 0
	need(r.Payload["record_id"] == r.Record_id && r.Payload["kind"] == r.Kind, "it is of another act")
	need(lines[0] == "c2sp.org/tlog-proof@v1" && lines[1] == fmt.Sprint("index ", r.Index) && r.Index >= 0 && r.Index < size, "this is not a proof of that entry")
	entry := sum([]byte("cstp/record/v2"), get(hex.DecodeString(r.Salt)), []byte(canonical(r.Payload)))
	need(bytes.Equal(climb(sum([]byte{0}, entry), r.Index, size-1, lines[2:]), base(checkpoint[2])), "payload or proof was changed")
	need(strings.HasPrefix(log, checkpoint[0]+"+") && signed(note, log), "the log did not sign the checkpoint")
	for _, key := range witnesses { if signed(note, key) { cosigned++ } }
	need(cosigned >= needed, "too few witnesses cosigned the checkpoint")
	fmt.Printf("valid: entry %d, %s %s\n", r.Index, r.Kind, r.Record_id)
}

func main() {
	var file struct { receipt; Receipts []receipt }
	decoder := json.NewDecoder(bytes.NewReader(get(os.ReadFile(os.Args[1]))))
	decoder.UseNumber()
	need(decoder.Decode(&file) == nil, "this is not a file with receipts")
	if file.Receipts == nil { file.Receipts = []receipt{file.receipt} }
	needed, witnesses := 0, []string{}
	if len(os.Args) > 3 { needed, witnesses = get(strconv.Atoi(os.Args[3])), os.Args[4:] }
	for _, one := range file.Receipts { check(one, os.Args[2], witnesses, needed) }
}
