{{/* What one value says against another; types and names are checked by values.schema.json. */}}
{{- define "switchyard.check" -}}
{{- $v := .Values }}
{{- if and (not .Values.endpointsConfigMap) (ne (contains "sentinel" .Values.redis.scheme) (contains "/" .Values.redis.address)) }}
{{- fail "redis.address: the name of the primary, as in sentinel:26379/main, belongs to redis.scheme redis+sentinel, and only to it" }}
{{- end }}
{{- if and (not $v.endpointsConfigMap) (contains "," $v.redis.address) (not (contains "+" $v.redis.scheme)) }}
{{- fail "redis.address: several addresses belong to redis.scheme redis+sentinel or redis+cluster" }}
{{- end }}
{{- if and $v.redis.sentinelSecret (not $v.endpointsConfigMap) (not (contains "sentinel" $v.redis.scheme)) }}
{{- fail "redis.sentinelSecret: only Sentinels have this password; redis.scheme is not redis+sentinel" }}
{{- end }}
{{- if and $v.mcpServers (not $v.mcpBroker.privateHosts) (not $v.endpointsConfigMap) }}
{{- fail "mcpServers: mcpBroker.privateHosts has to permit their addresses, the network of the cluster's services such as 10.96.0.0/12" }}
{{- end }}
{{- if and $v.mcpServers $v.mcpBroker.existingConfigMap }}
{{- fail "mcpServers: mcpBroker.existingConfigMap has the broker's servers; name them there, or leave it out" }}
{{- end }}
{{- range $name, $_ := $v.mcpServers }}
{{- if hasKey $v.mcpBroker.servers $name }}
{{- fail (printf "mcpServers.%s: mcpBroker.servers has a server of that name" $name) }}
{{- end }}
{{- end }}
{{- if and (eq $v.mode "compact") (eq $v.toolbox.workspaces.accessMode "ReadWriteOnce") (or (gt (int $v.compact.replicas) 1) (ne $v.agentRunner.autoscaling.by "none")) }}
{{- fail "compact.replicas: more than one, and agentRunner.autoscaling, need toolbox.workspaces.accessMode: ReadWriteMany, a volume that all of them write" }}
{{- end }}
{{- if and (gt (int $v.toolbox.replicas) 1) (eq $v.toolbox.workspaces.accessMode "ReadWriteOnce") }}
{{- fail "toolbox.replicas: more than one needs toolbox.workspaces.accessMode: ReadWriteMany, a volume that all of them write" }}
{{- end }}
{{- if and (eq $v.mode "compact") (ne $v.toolbox.sandbox "none") }}
{{- fail "toolbox.sandbox: in compact mode the pod has the keys of all services; commands of agents need mode: apart" }}
{{- end }}
{{- if and $v.gateway.tls.secret (hasPrefix "http://" $v.gateway.url) }}
{{- fail "gateway.url: with gateway.tls.secret the gateway answers over TLS alone; write https://" }}
{{- end }}
{{- if and $v.gateway.ingress.enabled (not $v.gateway.ingress.host) }}
{{- fail "gateway.ingress.host: the Ingress needs a name; the gateway refuses requests for others" }}
{{- end }}
{{- if and $v.gateway.httpRoute.enabled (or (not $v.gateway.httpRoute.parentRefs) (not $v.gateway.httpRoute.hostnames)) }}
{{- fail "gateway.httpRoute: the HTTPRoute needs parentRefs and hostnames" }}
{{- end }}
{{- if and $v.gateway.oidc.issuer (not $v.gateway.url) }}
{{- fail "gateway.url: sign-in by OIDC needs the address to which the provider sends people back" }}
{{- end }}
{{- if and $v.gateway.oidc.issuer (not $v.policy.issuers) }}
{{- fail "policy.issuers: sign-in by OIDC needs an entry that maps the people of gateway.oidc.issuer to users" }}
{{- end }}
{{- $removed := .Files.Get "files/removed-settings.yaml" | fromYaml }}
{{- range $name := list "policy" "mcpBroker" "skillImporter" "agentRunner" "channels" "toolbox" "scheduler" "gateway" "compact" }}
{{- range $variable, $value := (index $v $name).env }}
{{- if and (hasKey $removed $variable) (ne (toString $value) "") }}
{{- fail (printf "%s.env.%s: was removed, and a service that finds it set does not start: %s" $name $variable (index $removed $variable)) }}
{{- end }}
{{- if regexMatch "(^|_)(PASSWORD|SECRET|TOKEN|API_KEY|TOKEN_KEY|SEED)$" $variable }}
{{- fail (printf "%s.env.%s: secrets belong into a Secret that %s.secrets names, not into values" $name $variable $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- if gt (int $v.agentRunner.autoscaling.min) (int $v.agentRunner.autoscaling.max) }}
{{- fail "agentRunner.autoscaling: min is greater than max" }}
{{- end }}
{{- range $name := list "singleNats" "singleRedis" }}
{{- $single := index $v $name }}
{{- if and $single.enabled $v.endpointsConfigMap }}
{{- fail (printf "%s.enabled: endpointsConfigMap says where NATS and Redis are; leave one of them out" $name) }}
{{- end }}
{{- if and $single.enabled (ne $single.keysSecret $v.keys.secret) }}
{{- fail (printf "%s.keysSecret: it has to be keys.secret, %s" $name $v.keys.secret) }}
{{- end }}
{{- end }}
{{- end }}
