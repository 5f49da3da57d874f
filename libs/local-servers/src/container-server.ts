// NATS or Redis as seen from inside a container: ports, paths, configuration. The data directory is mounted as `/data`.

import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { natsServerConfig } from "./nats-server-config.ts";
import { ACL_FILE, writeAclFile, type RedisAccess } from "./redis-access.ts";
import { redisServerArguments } from "./redis-server-arguments.ts";
import type { ServerKindName } from "./server-kinds.ts";

/** Port of the server's protocol, and of NATS' HTTP monitoring endpoint. */
export const CONTAINER_PORTS = { nats: 4222, redis: 6379, monitor: 8222 } as const;
/** Mount point of the data directory. */
export const CONTAINER_DATA = "/data";

const CONFIG_FILE = "nats.container.conf";

/** The server's options, given to an image as its command. */
export function containerCommand(options: {
  kind: ServerKindName;
  appendfsync?: "always" | "everysec" | undefined;
  access?: RedisAccess | undefined;
}): string[] {
  const { kind, appendfsync = "always", access } = options;
  if (kind === "nats") return ["-c", `${CONTAINER_DATA}/${CONFIG_FILE}`];
  return redisServerArguments({
    bind: "0.0.0.0",
    port: CONTAINER_PORTS.redis,
    dir: CONTAINER_DATA,
    appendfsync,
    protectedMode: false,
    aclFile: access === undefined ? null : `${CONTAINER_DATA}/${ACL_FILE}`,
  });
}

/** Writes the files that {@link containerCommand} names into the data directory. */
export async function writeContainerFiles(options: {
  kind: ServerKindName;
  dataDir: string;
  /** NATS: more configuration text. */
  config?: string | undefined;
  access?: RedisAccess | undefined;
}): Promise<void> {
  const { kind, dataDir, config: extra = "", access } = options;
  if (kind === "redis" && access !== undefined) await writeAclFile(dataDir, access.acl);
  if (kind !== "nats") return;
  const file = join(dataDir, CONFIG_FILE);
  const config = natsServerConfig({
    host: "0.0.0.0",
    port: CONTAINER_PORTS.nats,
    monitorPort: CONTAINER_PORTS.monitor,
    storeDir: `${CONTAINER_DATA}/jetstream`,
    extra,
  });
  await rm(file, { force: true });
  await writeFile(file, config, { mode: 0o600 });
}
