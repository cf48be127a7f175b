//go:build tools

// Package echo keeps Istio's echo app, which the mesh tests of the Gateway API call, in go.mod.
package echo

import (
	_ "istio.io/istio/pkg/test/echo/cmd/client"
	_ "istio.io/istio/pkg/test/echo/cmd/server"
)
