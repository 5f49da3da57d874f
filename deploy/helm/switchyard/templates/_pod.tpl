{{/* The user of each service in NATS and Redis, and what it gets of the keys beside its own two files. */}}
{{- define "switchyard.services" -}}
policy: { values: policy, user: policy, keys: [run-token.jwk, masks.key, audit-values.key] }
mcp-broker: { values: mcpBroker, user: broker, keys: [mcp-logins.key, masks.key] }
skill-importer: { values: skillImporter, user: importer, keys: [] }
agent-runner: { values: agentRunner, user: runner, keys: [] }
channels: { values: channels, user: channels, keys: [] }
toolbox: { values: toolbox, user: toolbox, keys: [masks.key] }
scheduler: { values: scheduler, user: scheduler, keys: [] }
gateway: { values: gateway, user: gateway, keys: [webhooks.key] }
{{- end }}

{{/*
The deployments: one for each service or, in compact mode, one for all of them. Each has the names of its services, its NATS user (`{user}`
when each service inserts its own), their keys, and its values: in compact mode those of `compact` with the additions of the services.
*/}}
{{- define "switchyard.deployments" -}}
{{- $services := include "switchyard.services" . | fromYaml }}
{{- $deployments := dict }}
{{- if eq .Values.mode "compact" }}
{{- $values := deepCopy .Values.compact }}
{{- $keys := list }}
{{- range $name, $service := $services }}
{{- $v := index $.Values $service.values }}
{{- $keys = concat $keys (list (printf "%s.nk" $service.user) (printf "%s.redis" $service.user)) $service.keys }}
{{- range $variable, $value := $v.env }}
{{- if and (hasKey $values.env $variable) (not (hasKey $.Values.compact.env $variable)) (ne (toString $value) (toString (index $values.env $variable))) }}
{{- fail (printf "%s.env.%s: another service has %s; in compact mode they share one environment, so set it in compact.env" $service.values $variable (toString (index $values.env $variable))) }}
{{- end }}
{{- end }}
{{- $_ := set $values "env" (merge $values.env $v.env) }}
{{- range $field := list "secrets" "volumes" "volumeMounts" "sidecars" }}
{{- $_ := set $values $field (concat (index $values $field) (index $v $field) | uniq) }}
{{- end }}
{{- end }}
{{- $_ := set $deployments "switchyard" (dict "services" (keys $services | sortAlpha) "user" "{user}" "keys" (uniq $keys) "values" $values "main" "apps/switchyard/src/main.ts") }}
{{- else }}
{{- range $name, $service := $services }}
{{- $keys := concat (list (printf "%s.nk" $service.user) (printf "%s.redis" $service.user)) $service.keys }}
{{- $_ := set $deployments $name (dict "services" (list $name) "user" $service.user "keys" $keys "values" (index $.Values $service.values) "main" (printf "services/%s/src/main.ts" $name)) }}
{{- end }}
{{- end }}
{{- toYaml $deployments }}
{{- end }}

{{/* The deployment that has a service. */}}
{{- define "switchyard.deploymentOf" -}}
{{- ternary "switchyard" .name (eq .root.Values.mode "compact") }}
{{- end }}

{{- define "switchyard.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: switchyard
{{- end }}

{{- define "switchyard.image" -}}
{{- $image := .image }}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}
{{- else }}{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* A variable that is a value, or a key of the ConfigMap that is named in its place. An empty value is left out. */}}
{{- define "switchyard.endpoint" -}}
{{- $map := .root.Values.endpointsConfigMap }}
{{- if $map }}
- name: {{ .name }}
  valueFrom:
    configMapKeyRef: { name: {{ $map }}, key: {{ .key }}{{ if .optional }}, optional: true{{ end }} }
{{- else if .value }}
- { name: {{ .name }}, value: {{ .value | toString | quote }} }
{{- end }}
{{- end }}

{{- define "switchyard.natsUrl" -}}
{{- if .Values.singleNats.enabled }}nats://nats:4222{{ else }}{{ .Values.nats.url }}{{ end }}
{{- end }}

{{- define "switchyard.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Of a user with this number, or of one that the cluster gives. */}}
{{- define "switchyard.podSecurity" -}}
runAsNonRoot: true
{{- with . }}
runAsUser: {{ int . }}
runAsGroup: {{ int . }}
fsGroup: {{ int . }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{/* What connects any process of ours: NATS, private certificates and traces. */}}
{{- define "switchyard.commonEnv" -}}
{{- include "switchyard.endpoint" (dict "root" . "name" "YARD_NATS_URL" "key" "natsUrl" "value" (include "switchyard.natsUrl" .)) }}
{{- with .Values.ca.configMap }}
- { name: NODE_EXTRA_CA_CERTS, value: {{ printf "/ca/%s" $.Values.ca.key | quote }} }
{{- end }}
{{- with .Values.otlpEndpoint }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ . | quote }} }
{{- end }}
{{- end }}

{{/* All variables of a deployment. One of `env` replaces ours of the same name: server-side apply refuses a name twice. */}}
{{- define "switchyard.serviceEnv" -}}
{{- $env := include "switchyard.allEnv" . | fromYamlArray }}
{{- range $env }}
{{- if not (hasKey $.values.env .name) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- range $name, $value := .values.env }}
- {{ dict "name" $name "value" (toString $value) | toJson }}
{{- end }}
{{- end }}

{{- define "switchyard.allEnv" -}}
{{- include "switchyard.commonEnv" .root }}
{{- if eq .root.Values.mode "compact" }}
- { name: YARD_SERVICES, value: all }
{{- end }}
- { name: YARD_NATS_NKEY_FILE, value: "/keys/{{ .user }}.nk" }
# The pod mounts only the keys of its services there.
- { name: YARD_KEYS_DIR, value: /keys }
{{- include "switchyard.endpoint" (dict "root" .root "name" "REDIS_SCHEME" "key" "redisScheme" "value" .root.Values.redis.scheme) }}
{{- include "switchyard.endpoint" (dict "root" .root "name" "REDIS_ADDRESS" "key" "redisAddress" "value" (ternary "redis:6379" .root.Values.redis.address .root.Values.singleRedis.enabled)) }}
{{- /* The service's own user, whose password is among the keys. */}}
- { name: YARD_REDIS_URL, value: "$(REDIS_SCHEME)://{{ .user }}@$(REDIS_ADDRESS)" }
- { name: YARD_DRAIN_MS, value: {{ mul .values.drainSeconds 1000 | quote }} }
{{- $root := .root }}
{{- range .services }}
{{ include (printf "switchyard.env.%s" .) $root }}
{{- end }}
{{- end }}

{{/* An edit of a ConfigMap of the chart rolls out the one deployment that reads it. */}}
{{- define "switchyard.annotations" -}}
{{- $all := dict }}
{{- if .root.Values.monitoring.annotations }}
{{- $all = dict "prometheus.io/scrape" "true" "prometheus.io/port" "8080" }}
{{- end }}
{{- range .configs }}
{{- if not .existing }}{{ $_ := set $all (printf "checksum/%s" .name) (.data | toJson | sha256sum) }}{{ end }}
{{- end }}
{{- with mergeOverwrite $all .own }}{{ toYaml . }}{{ end }}
{{- end }}

{{- define "switchyard.replicasVary" -}}
{{- if and (has "agent-runner" .services) (ne .root.Values.agentRunner.autoscaling.by "none") }}true{{ end }}
{{- end }}

{{/* Everything under which the gateway is reached, with commas. */}}
{{- define "switchyard.httpHosts" -}}
{{- $g := .Values.gateway }}
{{- $own := printf "gateway.%s" .Release.Namespace }}
{{- $hosts := list "gateway" $own (printf "%s.svc" $own) (printf "%s.svc.cluster.local" $own) }}
{{- with $g.url }}{{ $hosts = append $hosts (urlParse .).hostname }}{{ end }}
{{- if $g.ingress.enabled }}{{ $hosts = append $hosts $g.ingress.host }}{{ end }}
{{- if $g.httpRoute.enabled }}{{ $hosts = concat $hosts $g.httpRoute.hostnames }}{{ end }}
{{- concat $hosts $g.hosts | uniq | join "," }}
{{- end }}

{{/* What the pods of hooks have of `pods`: registries, and nodes to run on. */}}
{{- define "switchyard.hookPod" -}}
restartPolicy: Never
automountServiceAccountToken: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext: {{- include "switchyard.podSecurity" .Values.pods.userId | nindent 2 }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" }}
{{- with index $.Values.pods $field }}
{{ dict $field . | toYaml }}
{{- end }}
{{- end }}
{{- end }}
