{{/* Of (dict "root" $ "role" "index" "own" .Values.index): what the chart decides, whatever vectail.toml says. */}}
{{- define "vectail.env" -}}
{{- $root := .root -}}
- name: VECTAIL_CONFIG
  value: /etc/vectail/vectail.toml
- name: VECTAIL_HTTP__HOST
  value: 0.0.0.0
- name: VECTAIL_HTTP__PORT
  value: "8790"
- name: VECTAIL_HTTP__TOKEN_FILE
  value: /run/secrets/vectail/VECTAIL_HTTP__TOKEN
- name: VECTAIL_MODEL__CACHE
  value: /data/models
- name: VECTAIL_LIMITS__DRAIN_TIMEOUT_S
  value: {{ $root.Values.drainSeconds | quote }}
{{- if ne .role "embed" }}
- name: VECTAIL_KAFKA__INDEX
  value: {{ eq .role "index" | quote }}
- name: VECTAIL_HTTP__PEERS
  value: {{ include "vectail.fullname" $root }}-index:8790
{{- end }}
{{- if and (eq .role "index") $root.Values.index.staticMembership }}
- name: VECTAIL_KAFKA__LIBRDKAFKA__GROUP_INSTANCE_ID
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
{{- end }}
{{- if $root.Values.model.existingClaim }}
- name: VECTAIL_MODEL__FOLDER
  value: /models/{{ required "model.folder: name the model's folder on the claim model.existingClaim" $root.Values.model.folder }}
{{- end }}
{{- range $root.Values.secrets }}
- name: {{ .variable }}_FILE
  value: /run/secrets/vectail/{{ .variable }}
{{- end }}
{{- with .own.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vectail.mounts" -}}
- name: config
  mountPath: /etc/vectail
  readOnly: true
- name: secrets
  mountPath: /run/secrets/vectail
  readOnly: true
- name: data
  mountPath: /data
- name: tmp
  mountPath: /tmp
{{- if .root.Values.model.existingClaim }}
- name: models
  mountPath: /models
  readOnly: true
{{- end }}
{{- with .own.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vectail.volumes" -}}
{{- $root := .root -}}
{{- $token := $root.Values.httpToken -}}
- name: config
  configMap:
    name: {{ include "vectail.fullname" $root }}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      - secret:
          name: {{ required "httpToken.existingSecret: name the Secret with the token that callers send" $token.existingSecret }}
          items:
            - key: {{ $token.key }}
              path: VECTAIL_HTTP__TOKEN
      {{- range $root.Values.secrets }}
      - secret:
          name: {{ .existingSecret }}
          items:
            - key: {{ .key }}
              path: {{ .variable }}
      {{- end }}
      {{- range $root.Values.secretFiles }}
      - secret:
          name: {{ .existingSecret }}
          items:
            - key: {{ .key }}
              path: {{ .name }}
      {{- end }}
- name: tmp
  emptyDir:
    sizeLimit: 1Gi
{{- if not .claimed }}
- name: data
  emptyDir:
    sizeLimit: {{ .own.dataSizeLimit }}
{{- end }}
{{- with $root.Values.model.existingClaim }}
- name: models
  persistentVolumeClaim:
    claimName: {{ . }}
    readOnly: true
{{- end }}
{{- with .own.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "vectail.podSecurity" -}}
runAsNonRoot: true
{{- range $name := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- with index $.Values $name }}
{{ $name }}: {{ int64 . }}
{{- end }}
{{- end }}
{{- if .Values.fsGroup }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "vectail.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* The pod of a role: (dict "root" $ "role" "index" "own" .Values.index "args" (list "run") "claimed" false "asked" true). */}}
{{- define "vectail.pod" -}}
{{- $root := .root -}}
metadata:
  annotations:
    checksum/config: {{ $root.Values.config | sha256sum }}
    {{- with .own.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "vectail.selector" . | nindent 4 }}
    {{- with $root.Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with .own.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "vectail.serviceAccount" $root }}
  automountServiceAccountToken: false
  # Kubernetes would add variables such as VECTAIL_QUERY_PORT for each Service, and an unknown setting ends the worker.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ add $root.Values.drainSeconds 15 }}
  securityContext:
    {{- include "vectail.podSecurity" $root | nindent 4 }}
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .own.runtimeClassName }}
  runtimeClassName: {{ . }}
  {{- end }}
  {{- with .own.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .own.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if $root.Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ $key }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "vectail.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  containers:
    - name: vectail
      image: {{ include "vectail.image" $root }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      args:
        {{- toYaml .args | nindent 8 }}
      env:
        {{- include "vectail.env" . | nindent 8 }}
      ports:
        - name: http
          containerPort: 8790
      {{- if .asked }}
      # Services forget the pod before it stops listening.
      lifecycle:
        preStop:
          sleep:
            seconds: 5
      {{- end }}
      # Five minutes for the first start, which may prepare a model.
      startupProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 60
      # About this process only: a restart while Milvus or Kafka is away would make it worse.
      livenessProbe:
        httpGet: {path: /healthz, port: http}
        periodSeconds: 10
        timeoutSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: {path: /readyz, port: http}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 3
      resources:
        {{- toYaml .own.resources | nindent 8 }}
      securityContext:
        {{- include "vectail.containerSecurity" $root | nindent 8 }}
      volumeMounts:
        {{- include "vectail.mounts" . | nindent 8 }}
  volumes:
    {{- include "vectail.volumes" . | nindent 4 }}
{{- end }}
