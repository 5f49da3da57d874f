/** The command line of a local Redis or Valkey: append-only file on, no snapshots, a full memory refuses writes. */
export function redisServerArguments(options: {
  bind: string;
  port: number;
  /** The path inside the server's file system. */
  dir: string;
  appendfsync: "always" | "everysec";
  /** Off only where the server must accept clients from outside its own network namespace: in a container. */
  protectedMode: boolean;
  /** The access list, by its path inside the server's file system; none leaves everything open. */
  aclFile?: string | null;
  /** More arguments, such as `--replicaof HOST PORT`. */
  more?: readonly string[];
}): string[] {
  const { aclFile = null, more = [] } = options;
  const settings: Record<string, string> = {
    bind: options.bind,
    port: String(options.port),
    "protected-mode": options.protectedMode ? "yes" : "no",
    dir: options.dir,
    appendonly: "yes",
    appendfsync: options.appendfsync,
    "maxmemory-policy": "noeviction",
    save: "",
    // The state of a run is a hash of short texts, which is packed.
    "hash-max-listpack-value": "256",
    daemonize: "no",
    ...(aclFile === null ? {} : { aclfile: aclFile }),
  };
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...more];
}
