// Evaluates formulas of ScaledObjects as KEDA 2.21 does, with the library and the version that its go.mod names.
//
//	kubernetes_check < [{"formula": "…", "values": {"trigger": 1.5}}, …]
//
// Prints a list of {"value": 1.5} or {"error": "…"}. See ValidateAndCompileScalingModifiers in apis/keda/v1alpha1/scaledobject_webhook.go
// and calculateScalingModifiersFormula in pkg/scaling/modifiers/formula.go.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/expr-lang/expr"
)

type question struct {
	Formula string             `json:"formula"`
	Values  map[string]float64 `json:"values"`
}

type answer struct {
	Value *float64 `json:"value,omitempty"`
	Error string   `json:"error,omitempty"`
}

func main() {
	var questions []question
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answers := make([]answer, len(questions))
	for number, one := range questions {
		value, err := evaluate(one)
		if err != nil {
			answers[number].Error = err.Error()
		} else {
			answers[number].Value = &value
		}
	}
	json.NewEncoder(os.Stdout).Encode(answers)
}

func evaluate(one question) (float64, error) {
	formula := one.Formula
	if !strings.HasPrefix(formula, "float(") {
		formula = "float(" + formula + ")"
	}
	// KEDA compiles with -1 for each trigger, and runs with what they say.
	triggers, said := map[string]float64{}, map[string]any{}
	for name, value := range one.Values {
		triggers[name], said[name] = -1, value
	}
	program, err := expr.Compile(formula, expr.Env(triggers))
	if err != nil {
		return 0, err
	}
	if _, err := expr.Run(program, triggers); err != nil {
		return 0, err
	}
	result, err := expr.Run(program, said)
	if err != nil {
		return 0, err
	}
	value, isFloat := result.(float64)
	if !isFloat {
		return 0, fmt.Errorf("no float, but %T", result)
	}
	// To the thousandth, as a Quantity has it.
	return float64(int64(value*1000)) / 1000, nil
}
