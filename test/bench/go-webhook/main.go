// The webhook as one writes it by hand in Go, with the types of Kubernetes: it decides by one label, and adds a container,
// a volume and an annotation. Arguments: PORT, KEY and CERT files.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"os"

	admission "k8s.io/api/admission/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const optIn = "initializer.kubernetes.io/envoy"

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

var volume = core.Volume{Name: "envoy-conf", VolumeSource: core.VolumeSource{
	ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: "envoy"}}}}

var container = core.Container{
	Name:    "envoy",
	Image:   "lyft/envoy:845747db88f102c0fd262ab234308e9e22f693a1",
	Command: []string{"/usr/local/bin/envoy"},
	Args:    []string{"--concurrency 4", "--config-path /etc/envoy/envoy.json", "--mode serve"},
	Ports:   []core.ContainerPort{{ContainerPort: 80, Protocol: core.ProtocolTCP}},
	Resources: core.ResourceRequirements{
		Limits:   core.ResourceList{"cpu": resource.MustParse("1"), "memory": resource.MustParse("512Mi")},
		Requests: core.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("64Mi")},
	},
	VolumeMounts: []core.VolumeMount{{Name: volume.Name, MountPath: "/etc/envoy"}},
}

func patchOf(pod *core.Pod) []operation {
	patch := []operation{{"add", "/spec/containers/-", container}, {"add", "/spec/volumes/-", volume}}
	if pod.Spec.Volumes == nil {
		patch[1] = operation{"add", "/spec/volumes", []core.Volume{volume}}
	}
	annotations := map[string]string{optIn + "-status": "injected"}
	for name, value := range pod.Annotations {
		annotations[name] = value
	}
	return append(patch, operation{"add", "/metadata/annotations", annotations})
}

func main() {
	http.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		var review admission.AdmissionReview
		var pod core.Pod
		err := json.NewDecoder(r.Body).Decode(&review)
		if err == nil && review.Request != nil {
			err = json.Unmarshal(review.Request.Object.Raw, &pod)
		}
		if err != nil || review.Request == nil {
			http.Error(w, "not a review of a pod", http.StatusBadRequest)
			return
		}
		review.Response = &admission.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		if pod.Labels[optIn] == "true" {
			kind := admission.PatchTypeJSONPatch
			review.Response.PatchType = &kind
			review.Response.Patch, _ = json.Marshal(patchOf(&pod))
		}
		review.Request = nil
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(review)
	})
	log.Fatal(http.ListenAndServeTLS("127.0.0.1:"+os.Args[1], os.Args[3], os.Args[2], nil))
}
