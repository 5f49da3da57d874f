import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { LONG_RUNNING, resolvedConfig, skip, type ComposeService } from "./compose-config.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const VALUES = [
  ["_PORT", "4000"],
  ["_MEMORY", "1g"],
  ["_LIMIT", "1g"],
  ["_UID", "1000"],
] as const;

/** Every setting of the composition, each with a different value. */
const settings = Object.fromEntries(
  [...readFileSync(`${root}docker-compose.yml`, "utf8").matchAll(/\$\{(YARD_[A-Z_]+)[:}]/g)].map(
    ([, name = ""]) => [
      name,
      VALUES.find(([end]) => name.endsWith(end))?.[1] ?? `/${name.toLowerCase()}`,
    ],
  ),
);
const compact = () => resolvedConfig(settings, [], "docker-compose.compact.yml").services;
const APART = LONG_RUNNING.filter((name) => name !== "nats" && name !== "redis");

test(
  "docker-compose.compact.yml has every setting, volume and port of the services apart",
  { skip },
  () => {
    const { switchyard, ...others } = compact();
    const { services } = resolvedConfig(settings);
    assert.deepEqual(
      Object.keys(others).toSorted(),
      Object.keys(services)
        .filter((name) => !APART.includes(name))
        .toSorted(),
    );
    for (const name of ["keys", "nats", "redis", "folders", "streams"])
      assert.deepEqual(others[name], services[name], name);
    const targets = (service?: ComposeService) =>
      new Map(service?.volumes?.map((volume) => [volume.target, volume]));
    const ours = targets(switchyard);
    for (const name of APART) {
      const { environment = {}, ports = [], ...service } = services[name] ?? {};
      const { user } =
        /(?<user>[a-z]+)\.nk$/.exec(environment["YARD_NATS_NKEY_FILE"] ?? "")?.groups ?? {};
      for (const [setting, value] of Object.entries(environment))
        assert.equal(
          switchyard?.environment?.[setting]?.replaceAll("{user}", user ?? ""),
          value ?? undefined,
          `${name}: ${setting}`,
        );
      for (const [target, volume] of targets(service))
        assert.deepEqual(ours.get(target), volume, `${name}: ${target}`);
      for (const port of ports)
        assert.ok(switchyard?.ports?.some((one) => isDeepStrictEqual(one, port)));
    }
  },
);

test(
  "the one process of docker-compose.compact.yml is contained, and may read the key of each service",
  { skip },
  () => {
    const { switchyard, data } = compact();
    assert.deepEqual(switchyard?.command, ["apps/switchyard/src/main.ts"]);
    assert.equal(switchyard.environment?.["YARD_SERVICES"], "all");
    assert.equal(switchyard.read_only, true);
    assert.deepEqual(switchyard.cap_drop, ["ALL"]);
    assert.ok(switchyard.security_opt?.includes("no-new-privileges:true"));
    assert.ok(Number(switchyard.mem_limit) > 0);
    for (const port of switchyard.ports ?? []) assert.equal(port.host_ip, "127.0.0.1");
    const groups = [switchyard.user?.split(":")[1], ...(switchyard.group_add ?? [])];
    const { services } = resolvedConfig();
    const ofServices = APART.map((name) => services[name]?.user?.split(":")[1]);
    const shared = APART.flatMap((name) => services[name]?.group_add ?? []);
    assert.deepEqual(new Set(groups), new Set([...ofServices, ...shared]));
    for (const volume of ["workspaces", "mcp-home"])
      assert.ok(data?.command?.[0]?.includes(`give 1000 /${volume}`), volume);
  },
);
