{{- define "vectail.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Short enough for every suffix of ours. */}}
{{- define "vectail.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 45 | trimSuffix "-" }}
{{- else if contains (include "vectail.name" .) .Release.Name -}}
{{ .Release.Name | trunc 45 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "vectail.name" .) | trunc 45 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "vectail.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "vectail.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "vectail.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Of (dict "root" $ "role" "index"): what never changes of a pod, and what its Service looks for. */}}
{{- define "vectail.selector" -}}
app.kubernetes.io/name: {{ include "vectail.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .role }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Of every object. Not of pods: the chart's version must not restart them. */}}
{{- define "vectail.labels" -}}
{{ include "vectail.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}
