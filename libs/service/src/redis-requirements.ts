/** The properties of a Redis server that the safety of its state depends on, read from its `INFO` reply. */
export interface RedisFacts {
  readonly version: string;
  readonly maxmemoryPolicy: string;
  readonly appendOnly: boolean;
  /** A node of Redis Cluster, where a script or transaction has the keys of one hash slot only. */
  readonly isCluster: boolean;
  readonly isReplica: boolean;
}

/** A rule that a server breaks, and what to do about it. Only an `error` forbids its use. */
export interface RedisComplaint {
  readonly severity: "error" | "warning";
  readonly message: string;
  readonly hint: string;
}

/** Reads the reply of `INFO`: `name:value` lines between `# Section` lines. */
export function parseRedisInfo(info: string): RedisFacts {
  const fields = new Map<string, string>();
  for (const line of info.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0 && !line.startsWith("#")) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return {
    version: fields.get("redis_version") ?? "unknown",
    maxmemoryPolicy: fields.get("maxmemory_policy") ?? "unknown",
    appendOnly: fields.get("aof_enabled") === "1",
    isCluster: fields.get("cluster_enabled") === "1",
    isReplica: fields.get("role") === "slave",
  };
}

/** Compares a server with Switchyard's requirements. An empty list is a good server. `asCluster`: the URL names it as a node of one. */
export function checkRedis(facts: RedisFacts, asCluster = false): RedisComplaint[] {
  const complaints: RedisComplaint[] = [];
  const major = Number(/^(\d+)\./.exec(facts.version)?.[1] ?? 0);
  if (major < 7) {
    complaints.push({
      severity: "error",
      message: `Redis is version ${facts.version}; 7.0 or later is needed`,
      hint: "upgrade Redis, or let YARD_REDIS_URL name a newer server",
    });
  }
  if (facts.maxmemoryPolicy !== "noeviction") {
    complaints.push({
      severity: "error",
      message: `Redis has maxmemory-policy ${facts.maxmemoryPolicy}, so it may delete runs when memory is short`,
      hint: 'set "maxmemory-policy noeviction" in redis.conf, or run: redis-cli CONFIG SET maxmemory-policy noeviction',
    });
  }
  if (facts.isCluster && !asCluster) {
    complaints.push({
      severity: "error",
      message: "Redis is a node of a cluster, which has a part of the keys",
      hint: "let YARD_REDIS_URL name the cluster by some of its nodes: redis+cluster://host1:6379,host2:6379",
    });
  }
  if (facts.isReplica) {
    complaints.push({
      severity: "error",
      message: "Redis is a replica, which takes no writes",
      hint: "let YARD_REDIS_URL name the primary, or Sentinels that know it: redis+sentinel://host:26379/primary",
    });
  }
  if (!facts.appendOnly) {
    complaints.push({
      severity: "warning",
      message: "Redis has its append-only file off, so a crash of Redis loses runs",
      hint: 'set "appendonly yes" in redis.conf',
    });
  }
  return complaints;
}
