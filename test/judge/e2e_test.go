// Package judge has the tests of Kubernetes' own e2e that notice a sidecar: as k8s.io/kubernetes/test/e2e, without what only
// the API server, clouds, storage and schedulers do.
package judge

import (
	"context"
	"flag"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	_ "github.com/onsi/ginkgo/v2"
	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/common"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
	_ "k8s.io/kubernetes/test/e2e/network"
	_ "k8s.io/kubernetes/test/e2e/node"
)

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	framework.TestContext.CreateTestingNS = createNamespace
	os.Exit(m.Run())
}

// createNamespace lets pods have a sidecar that needs NET_ADMIN: most tests would have pod security `restricted`.
func createNamespace(ctx context.Context, name string, c clientset.Interface, labels map[string]string) (*corev1.Namespace, error) {
	labels["pod-security.kubernetes.io/enforce"] = "privileged"
	return framework.CreateTestingNS(ctx, name, c, labels)
}

func TestE2E(t *testing.T) { e2e.RunE2ETests(t) }
