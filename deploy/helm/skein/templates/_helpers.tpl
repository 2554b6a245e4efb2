{{- define "skein.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "skein.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains (include "skein.name" .) .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "skein.name" .) | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "skein.selector" -}}
app.kubernetes.io/name: {{ include "skein.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: service
{{- end }}

{{- define "skein.labels" -}}
app.kubernetes.io/name: {{ include "skein.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "skein.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ printf "%s@%s" .repository .digest }}{{ else }}{{ printf "%s:%s" .repository (.tag | default $.Chart.AppVersion) }}{{ end }}
{{- end }}
{{- end }}

{{- define "skein.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "skein.fullname" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{/* How many pods there are at least. */}}
{{- define "skein.replicas" -}}
{{- if .Values.database.embedded }}
{{- if kindIs "invalid" .Values.replicas }}1{{ else }}{{ .Values.replicas }}{{ end }}
{{- else if .Values.autoscaling.enabled }}
{{- .Values.autoscaling.minReplicas }}
{{- else if kindIs "invalid" .Values.replicas }}2
{{- else }}{{ .Values.replicas }}
{{- end }}
{{- end }}

{{/* A setting as text. Helm reads numbers as floats and would print 402653184 as 4.02653184e+08. */}}
{{- define "skein.text" -}}
{{- if and (kindIs "float64" .) (eq (float64 (int64 .)) .) }}{{ int64 . }}{{ else }}{{ toString . }}{{ end }}
{{- end }}

{{/* What the service and the migration have in common of the environment. */}}
{{- define "skein.env" -}}
{{- if not .Values.database.embedded }}
- name: DATABASE_URL
  valueFrom:
    secretKeyRef: { name: {{ .Values.database.secret | quote }}, key: {{ .Values.database.urlKey | quote }} }
{{- with .Values.database.passwordKey }}
- name: DATABASE_PASSWORD
  valueFrom:
    secretKeyRef: { name: {{ $.Values.database.secret | quote }}, key: {{ . | quote }} }
{{- end }}
{{- end }}
{{- with .Values.adminKey.secret }}
- name: BOOTSTRAP_API_KEY
  valueFrom:
    secretKeyRef: { name: {{ . | quote }}, key: {{ $.Values.adminKey.key | quote }} }
{{- end }}
{{ include "skein.settings" . }}
{{- end }}

{{/* The settings of the values. */}}
{{- define "skein.settings" -}}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ include "skein.text" $value | quote }}
{{- end }}
{{- range .Values.secretSettings }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef: { name: {{ .secret | quote }}, key: {{ .key | quote }} }
{{- end }}
{{- end }}

{{- define "skein.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Where a pod may write. */}}
{{- define "skein.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
{{- if .Values.database.embedded }}
- { name: shared-memory, mountPath: /dev/shm }
{{- end }}
{{- with .Values.volumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "skein.volumes" -}}
- name: tmp
  emptyDir: {}
{{- if .Values.database.embedded }}
- name: shared-memory
  emptyDir: { medium: Memory, sizeLimit: {{ .Values.database.sharedMemory }} }
{{- else }}
- name: data
  emptyDir: {}
{{- end }}
{{- with .Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
