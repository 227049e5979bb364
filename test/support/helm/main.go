// Renders a template of a chart as Helm does: Go's text/template with the functions of sprig and toJson, where a missing value is an error.
// The arguments are the template and a file with the values that it gets, as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"text/template"

	"github.com/Masterminds/sprig"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	functions := sprig.TxtFuncMap()
	functions["toJson"] = func(value interface{}) string {
		text, err := json.Marshal(value)
		must(err)
		return string(text)
	}
	source, err := os.ReadFile(os.Args[1])
	must(err)
	given, err := os.ReadFile(os.Args[2])
	must(err)
	var values map[string]interface{}
	must(json.Unmarshal(given, &values))
	chart, err := template.New("chart").Option("missingkey=error").Funcs(functions).Parse(string(source))
	must(err)
	must(chart.Execute(os.Stdout, values))
}
