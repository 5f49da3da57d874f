{{/* Selects the pods of these services, in both modes: after a change of the mode, pods of the one before reach what they need until they have ended. */}}
{{- define "switchyard.podsOf" -}}
- { key: app.kubernetes.io/name, operator: In, values: [{{ join ", " . }}, switchyard] }
{{- end }}

{{/* DNS of the cluster. */}}
{{- define "switchyard.dnsEgress" -}}
- to: {{- toYaml .Values.networkPolicy.dnsTo | nindent 4 }}
  ports:
    - { port: 53, protocol: UDP }
    - { port: 53, protocol: TCP }
{{- end }}

{{/*
Egress to the servers of an address (`url` without its scheme, several with commas): `to` where values name the peers, the namespace
of a Service's name (name.namespace, also with .svc and more), the very address of an IP, and otherwise any address but the cloud's metadata service,
since a policy cannot name hosts. `ports` are further ones there, such as that of a primary behind Sentinels.
*/}}
{{- define "switchyard.egressTo" -}}
{{- $peers := .to }}
{{- $ports := .ports | default list }}
{{- range $server := splitList "," .address }}
{{- $authority := regexReplaceAll "^[a-z+]+://" $server "" | splitList "@" | last | regexFind "^[^/]+" }}
{{- $host := regexReplaceAll ":[0-9]+$" $authority "" }}
{{- $ports = append $ports (regexFind "[0-9]+$" (regexFind ":[0-9]+$" $authority) | default $.port | int) }}
{{- if not $.to }}
{{- if regexMatch "^[0-9]+(\\.[0-9]+){3}$" $host }}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" (printf "%s/32" $host))) }}
{{- else if regexMatch "^[a-z0-9-]+\\.[a-z0-9-]+(\\.svc(\\..*)?)?$" $host }}
{{- $peers = append $peers (dict "namespaceSelector" (dict "matchLabels" (dict "kubernetes.io/metadata.name" (index (splitList "." $host) 1)))) }}
{{- else if regexMatch "^[a-z0-9-]+$" $host }}
{{- $peers = append $peers (dict "podSelector" (dict)) }}
{{- else }}
{{- $peers = append $peers (dict "ipBlock" (dict "cidr" "0.0.0.0/0" "except" (list "169.254.0.0/16"))) }}
{{- end }}
{{- end }}
{{- end }}
- to: {{- toYaml ($peers | uniq) | nindent 4 }}
  ports:
    {{- range $ports | uniq }}
    - { port: {{ . }}, protocol: TCP }
    {{- end }}
{{- end }}

{{/* Addresses of the Kubernetes API, as far as the cluster of an installation says them and values name them: nothing of ours calls it. */}}
{{- define "switchyard.apiServers" -}}
{{- $addresses := list }}
{{- range (lookup "v1" "Endpoints" "default" "kubernetes").subsets }}
{{- range .addresses }}
{{- if not (contains ":" .ip) }}{{ $addresses = append $addresses (printf "%s/32" .ip) }}{{ end }}
{{- end }}
{{- end }}
{{- concat $addresses .Values.networkPolicy.apiServers | uniq | toJson }}
{{- end }}
