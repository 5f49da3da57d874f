{{/* What one service has and the others have not: variables, the ConfigMaps that it reads, mounts and volumes. */}}

{{- define "switchyard.env.policy" -}}
- { name: YARD_POLICY_FILE, value: /config/policy.yaml }
{{- if .Values.policy.issuers }}
- { name: YARD_ISSUERS_FILE, value: /issuers/issuers.yaml }
{{- end }}
{{- end }}

{{- define "switchyard.config.policy" -}}
- { name: yard-policy, existing: {{ .Values.policy.existingConfigMap | quote }}, path: /config, data: { policy.yaml: {{ .Values.policy.rules | toJson }} } }
{{- with .Values.policy.issuers }}
- { name: yard-issuers, path: /issuers, data: { issuers.yaml: {{ toYaml (dict "issuers" .) | toJson }} } }
{{- end }}
{{- end }}

{{- define "switchyard.env.mcp-broker" -}}
- { name: YARD_MCP_SERVERS_FILE, value: /config/mcp-servers.json }
- { name: YARD_STATE_DIR, value: /tmp }
# Where servers that npx or uvx fetch are kept, for the life of the pod.
- { name: HOME, value: /tmp }
{{- include "switchyard.endpoint" (dict "root" . "name" "YARD_MCP_ALLOW_PRIVATE_HOSTS" "key" "mcpPrivateHosts" "value" .Values.mcpBroker.privateHosts "optional" true) }}
{{- end }}

{{- define "switchyard.config.mcp-broker" -}}
- { name: yard-mcp-servers, existing: {{ .Values.mcpBroker.existingConfigMap | quote }}, path: /config, data: { mcp-servers.json: {{ include "switchyard.mcpServers" . | toJson }} } }
{{- end }}

{{- define "switchyard.env.skill-importer" -}}
- { name: YARD_SKILL_ROOTS, value: /project }
# A rollout stops at a file that cannot be used; its last good version is served meanwhile.
- { name: YARD_IMPORT_STRICT, value: "1" }
{{- include "switchyard.endpoint" (dict "root" . "name" "YARD_SCAN_INDICATORS" "key" "scanIndicators" "value" .Values.skillImporter.scanIndicators "optional" true) }}
{{- include "switchyard.endpoint" (dict "root" . "name" "YARD_SCAN_SUPPRESSIONS" "key" "scanSuppressions" "value" .Values.skillImporter.scanSuppressions "optional" true) }}
{{- end }}

{{- define "switchyard.config.skill-importer" -}}
- { name: yard-agents, existing: {{ .Values.skillImporter.existingConfigMap | quote }}, path: /project/agents, data: {{ .Values.skillImporter.agents | toJson }} }
{{- with .Values.skillImporter.skills }}
# One mount for each file: the links of a mounted ConfigMap would be found twice.
- { name: yard-skills, path: /project/skills, isSkills: true, data: {{ . | toJson }} }
{{- end }}
{{- end }}

{{- define "switchyard.env.agent-runner" -}}
- { name: YARD_RUNNER_SLOTS, value: {{ .Values.agentRunner.slots | int | quote }} }
- { name: YARD_MODELS_FILE, value: /config/models.json }
{{- /* In compact mode the broker's variable is for both. */}}
{{- if ne .Values.mode "compact" }}
- { name: YARD_STATE_DIR, value: /tmp }
{{- end }}
{{- if .Values.agentRunner.teamLimits }}
- { name: YARD_TEAM_LIMITS_FILE, value: /limits/team-limits.json }
{{- end }}
{{- end }}

{{- define "switchyard.config.agent-runner" -}}
- { name: yard-models, existing: {{ .Values.agentRunner.existingConfigMap | quote }}, path: /config, data: { models.json: {{ .Values.agentRunner.models | toPrettyJson | toJson }} } }
{{- with .Values.agentRunner.teamLimits }}
- { name: yard-team-limits, path: /limits, data: { team-limits.json: {{ toPrettyJson . | toJson }} } }
{{- end }}
{{- end }}

{{- define "switchyard.env.toolbox" -}}
- { name: YARD_WORKSPACES_DIR, value: /workspaces }
{{- if eq .Values.toolbox.sandbox "userNamespaces" }}
# Without a sandbox that works the pod does not become ready, and its log has the reason.
- { name: YARD_SANDBOX, value: require }
{{- end }}
{{- if .Values.toolbox.toolSettings }}
- { name: YARD_TOOLS_FILE, value: /config/tools.json }
{{- end }}
{{- end }}

{{- define "switchyard.config.toolbox" -}}
{{- with .Values.toolbox.toolSettings }}
- { name: yard-tools, path: /config, data: { tools.json: {{ toPrettyJson . | toJson }} } }
{{- else }}[]
{{- end }}
{{- end }}

{{- define "switchyard.env.scheduler" -}}
{{- with .Values.scheduler.agent }}
- { name: YARD_SCHEDULES_AGENT, value: {{ . | quote }} }
{{- end }}
{{- if .Values.scheduler.triggers }}
- { name: YARD_TRIGGERS_FILE, value: /config/triggers.yaml }
{{- end }}
{{- end }}

{{- define "switchyard.config.scheduler" -}}
{{- with .Values.scheduler.triggers }}
- { name: yard-triggers, path: /config, data: { triggers.yaml: {{ toYaml (dict "version" 1 "triggers" .) | toJson }} } }
{{- else }}[]
{{- end }}
{{- end }}

{{- define "switchyard.env.channels" -}}
- { name: YARD_CHANNELS_FILE, value: /config/channels.json }
{{- /* In compact mode the gateway's variable is for both. */}}
{{- if and .Values.gateway.url (ne .Values.mode "compact") }}
- { name: YARD_HTTP_URL, value: {{ .Values.gateway.url | quote }} }
{{- end }}
{{- with .Values.channels.privateHosts }}
- { name: YARD_CHANNELS_ALLOW_PRIVATE_HOSTS, value: {{ . | quote }} }
{{- end }}
{{- end }}

{{- define "switchyard.config.channels" -}}
- { name: yard-channels, existing: {{ .Values.channels.existingConfigMap | quote }}, path: /config, data: { channels.json: {{ dict "accounts" .Values.channels.accounts | toPrettyJson | toJson }} } }
{{- end }}

{{- define "switchyard.env.gateway" -}}
{{- $g := .Values.gateway }}
- { name: YARD_HTTP_PORT, value: "0.0.0.0:8321" }
{{- include "switchyard.endpoint" (dict "root" . "name" "YARD_HTTP_HOSTS" "key" "httpHosts" "value" (include "switchyard.httpHosts" .)) }}
{{- with $g.url }}
- { name: YARD_HTTP_URL, value: {{ . | quote }} }
{{- end }}
{{- if $g.tls.secret }}
- { name: YARD_HTTP_TLS_DIR, value: /tls }
{{- end }}
{{- if or $g.hooks $g.existingConfigMap }}
- { name: YARD_HOOKS_FILE, value: /config/hooks.json }
{{- end }}
{{- if $g.oidc.issuer }}
- { name: YARD_OIDC_ISSUER, value: {{ $g.oidc.issuer | quote }} }
- { name: YARD_OIDC_CLIENT_ID, value: {{ $g.oidc.clientId | quote }} }
- { name: YARD_OIDC_SCOPES, value: {{ $g.oidc.scopes | quote }} }
{{- end }}
{{- end }}

{{- define "switchyard.config.gateway" -}}
{{- $g := .Values.gateway }}
{{- if or $g.hooks $g.existingConfigMap -}}
- { name: yard-hooks, existing: {{ $g.existingConfigMap | quote }}, path: /config, data: { hooks.json: {{ dict "hooks" $g.hooks | toPrettyJson | toJson }} } }
{{- else -}}
[]
{{- end }}
{{- end }}

{{/* Secrets that become variables, and may be missing. */}}
{{- define "switchyard.optionalSecret" -}}
{{- if eq .name "mcp-broker" }}{{ .root.Values.mcpBroker.serverSecret }}{{ end }}
{{- if eq .name "agent-runner" }}{{ .root.Values.agentRunner.keySecret }}{{ end }}
{{- if eq .name "channels" }}{{ .root.Values.channels.tokenSecret }}{{ end }}
{{- end }}
