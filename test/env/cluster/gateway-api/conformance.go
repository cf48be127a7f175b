// Conformance runs the official conformance suite of the Gateway API as a program, with the suite's own flags.
package main

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func main() {
	matchAll := func(string, string) (bool, error) { return true, nil }
	suite := testing.InternalTest{Name: "TestConformance", F: conformance.RunConformance}
	testing.Main(matchAll, []testing.InternalTest{suite}, nil, nil)
}
