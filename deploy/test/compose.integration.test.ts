import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { serviceRedisUsers } from "@switchyard/contracts/redis-access";
import { parse } from "yaml";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface ComposeService {
  environment?: Record<string, string>;
  ports?: { host_ip?: string }[];
  read_only?: boolean;
  user?: string;
  cap_drop?: string[];
  healthcheck?: unknown;
  depends_on?: Record<string, { condition: string }>;
}

/** `docker compose` where Compose v2 is a plugin, `docker-compose` where it is a command of its own. */
function composeCommand(): string[] | null {
  const candidates = [["docker", "compose"], ["docker-compose"]];
  return (
    candidates.find(([tool = "", ...args]) => {
      const { stdout, status } = spawnSync(tool, [...args, "version", "--short"], {
        encoding: "utf8",
      });
      return status === 0 && /^v?[2-9]\./.test(stdout);
    }) ?? null
  );
}

const command = composeCommand();
const skip = command === null && "Docker Compose v2 is not installed";

function resolvedConfig(): { services: Record<string, ComposeService> } {
  const [tool = "", ...args] = command ?? [];
  const result = spawnSync(tool, [...args, "config", "--format", "json"], {
    cwd: root,
    encoding: "utf8",
  });
  assert.equal(result.status, 0, result.stderr);
  return JSON.parse(result.stdout);
}

test("docker-compose.yml is what Compose accepts", { skip }, () => {
  const names = Object.keys(resolvedConfig().services).toSorted();
  assert.deepEqual(names, [
    "broker",
    "data",
    "importer",
    "keys",
    "nats",
    "policy",
    "redis",
    "runner",
    "streams",
    "toolbox",
  ]);
});

test(
  "every long-running container is checked, read-only, without capabilities, and on loopback",
  { skip },
  () => {
    const { services } = resolvedConfig();
    for (const name of ["nats", "redis", "policy", "importer", "broker", "runner", "toolbox"]) {
      const service = services[name];
      assert.ok(service?.healthcheck, `${name} has no health check`);
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ["ALL"], name);
      for (const port of service.ports ?? []) assert.equal(port.host_ip, "127.0.0.1", name);
    }
    assert.equal(
      services["runner"]?.depends_on?.["streams"]?.condition,
      "service_completed_successfully",
    );
    assert.equal(services["runner"]?.depends_on?.["redis"]?.condition, "service_healthy");
  },
);

test("every service logs in to Redis as itself, with a password of its own from a file", async () => {
  const composition: { services: Record<string, ComposeService> } = parse(
    await readFile(`${root}docker-compose.yml`, "utf8"),
    { merge: true },
  );
  const handedOut = String(Object(composition.services["keys"])["command"]);
  for (const { name } of serviceRedisUsers) {
    const service = composition.services[name];
    const environment = service?.environment ?? {};
    assert.equal(environment["YARD_REDIS_URL"], `redis://${name}@redis:6379`);
    assert.equal(environment["YARD_REDIS_PASSWORD_FILE"], `/keys/${name}.redis`);
    const owner = service?.user?.split(":")[0] ?? "";
    assert.match(handedOut, new RegExp(`chown ${owner} .*\\b${name}\\.redis\\b`), name);
  }
  const redisConf = await readFile(`${root}deploy/redis/redis.conf`, "utf8");
  assert.match(redisConf, /^aclfile \/keys\/users\.acl$/m);
});

test("the image copies every workspace, and runs as a user without a name", async () => {
  const dockerfile = await readFile(`${root}deploy/docker/Dockerfile`, "utf8");
  const lockfile = JSON.parse(await readFile(`${root}package-lock.json`, "utf8"));
  const workspaces = Object.keys(lockfile.packages).filter((path) =>
    /^(libs|services|apps)\/[^/]+$/.test(path),
  );
  assert.ok(workspaces.length >= 9);
  for (const workspace of workspaces) {
    assert.ok(dockerfile.includes(`COPY ${workspace}/package.json ${workspace}/`), workspace);
  }
  assert.match(dockerfile, /^USER 10001:10001$/m);
});

test("NATS and Redis are configured to keep what they acknowledge", async () => {
  const redis = await readFile(`${root}deploy/redis/redis.conf`, "utf8");
  assert.match(redis, /^appendfsync always$/m);
  assert.match(redis, /^maxmemory-policy noeviction$/m);
  for (const file of ["deploy/nats/nats.conf", "deploy/k8s/overlays/dev/nats.conf"]) {
    assert.match(await readFile(root + file, "utf8"), /sync_interval: always/, file);
  }
  const manifest = parse(
    (await readFile(`${root}deploy/k8s/overlays/dev/redis.yaml`, "utf8")).split("\n---\n")[1] ?? "",
  );
  const args: string[] = manifest.spec.template.spec.containers[0].args;
  assert.ok(args.includes("always") && args.includes("noeviction"));
});
