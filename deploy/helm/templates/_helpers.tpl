{{- define "envoy-initializer.selected" -}}
app.kubernetes.io/name: envoy-initializer
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "envoy-initializer.labels" -}}
{{ include "envoy-initializer.selected" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: envoy-initializer
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}
