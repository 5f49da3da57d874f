import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, globSync, openSync, readSync, type Dirent } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { serviceRedisUsers } from "@switchyard/topology/redis-access";
import { parse } from "yaml";
import { LONG_RUNNING, resolvedConfig, skip, type ComposeService } from "./compose-config.ts";
import { dig } from "./read-manifests.ts";
import { readManifests } from "./render-manifests.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

test("docker-compose.yml is what Compose accepts", { skip }, () => {
  const names = Object.keys(resolvedConfig().services).toSorted();
  assert.deepEqual(names, [
    "broker",
    "channels",
    "data",
    "folders",
    "gateway",
    "importer",
    "keys",
    "nats",
    "policy",
    "redis",
    "reload-nats",
    "reload-redis",
    "runner",
    "scheduler",
    "streams",
    "toolbox",
  ]);
});

test(
  "every long-running container is checked, read-only, without capabilities, and on loopback",
  { skip },
  () => {
    const { services } = resolvedConfig();
    for (const name of LONG_RUNNING) {
      const service = services[name];
      assert.ok(service?.healthcheck, `${name} has no health check`);
      assert.equal(service.read_only, true, name);
      assert.deepEqual(service.cap_drop, ["ALL"], name);
      assert.ok(Number(service.mem_limit) > 0, `${name} has no memory limit`);
      assert.ok(Number(service.pids_limit) > 0, `${name} has no limit of processes`);
      assert.ok(service.logging?.options?.["max-size"], `${name} may log without end`);
      for (const mount of service.tmpfs ?? []) assert.match(mount, /size=/, name);
      for (const port of service.ports ?? []) assert.equal(port.host_ip, "127.0.0.1", name);
    }
    assert.equal(
      services["runner"]?.depends_on?.["streams"]?.condition,
      "service_completed_successfully",
    );
    assert.equal(services["runner"]?.depends_on?.["redis"]?.condition, "service_healthy");
  },
);

test(
  "health checks start no Node.js, and are frequent only until the first success",
  { skip },
  () => {
    const { services } = resolvedConfig();
    for (const name of LONG_RUNNING) {
      const { test: words = [], interval, start_interval } = services[name]?.healthcheck ?? {};
      assert.doesNotMatch(words.join(" "), /\bnode\b/, name);
      assert.deepEqual([interval, start_interval], ["10s", "1s"], name);
    }
  },
);

test("the health check distinguishes a ready service from one that is not, and from none", async () => {
  const composition = parse(await readFile(`${root}docker-compose.yml`, "utf8"), { merge: true });
  const [, ...words]: string[] = composition["x-service"].healthcheck.test;
  let status = 200;
  const server = createServer((_, response) => {
    response.statusCode = status;
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const check = async (): Promise<number | null> => {
    const [tool = "", ...args] = words.map((word) =>
      word.replaceAll("$$", "$").replace("/8080", `/${address.port}`),
    );
    const child = spawn(tool, args, { stdio: "ignore", timeout: 10_000 });
    const [code]: (number | null)[] = await once(child, "exit");
    return code ?? null;
  };
  assert.equal(await check(), 0);
  status = 503;
  assert.notEqual(await check(), 0);
  server.close();
  server.closeAllConnections();
  assert.notEqual(await check(), 0);
});

test("images that are built here are never pulled, and one service builds them", { skip }, () => {
  const { services } = resolvedConfig();
  const ours = Object.entries(services).filter(([, { image }]) => image === "switchyard:dev");
  assert.ok(ours.length >= 9);
  for (const [name, service] of ours) assert.equal(service.pull_policy, "never", name);
  const builders = ours.filter(([, { build }]) => build !== undefined && build !== null);
  assert.deepEqual(
    builders.map(([name, { build }]) => [name, build?.target]),
    [["keys", "services"]],
  );
});

test(
  "an upgrade makes the keys anew, and NATS and Redis read them without a restart",
  { skip },
  () => {
    const { services } = resolvedConfig();
    for (const name of ["nats", "redis"]) {
      const keys = services[name]?.depends_on?.["keys"];
      assert.deepEqual(
        [keys?.condition, keys?.restart],
        ["service_completed_successfully", undefined],
      );
      const mounts = services[name]?.volumes ?? [];
      assert.ok(!mounts.some(({ type }) => type === "bind"), `${name} reads a file of the clone`);
    }
    assert.equal(services["reload-nats"]?.pid, "service:nats");
    // A process may signal another one of the same user, without a capability.
    assert.equal(services["reload-nats"]?.user, services["nats"]?.user);
    assert.match(String(services["reload-redis"]?.command), /--user admin ACL LOAD/);
    for (const name of ["streams", "runner"])
      assert.ok(JSON.stringify(services[name]?.depends_on).includes("reload-"), name);
  },
);

test("two clones are two projects, and both files of a clone are one", { skip }, async () => {
  const names = ["docker-compose.yml", "docker-compose.compact.yml"].map(
    (first) => resolvedConfig({}, [], first).name,
  );
  // https://docs.docker.com/compose/how-tos/project-name/
  const folder = basename(root).toLowerCase();
  assert.equal(names[0], folder.replaceAll(/[^-_a-z0-9]/g, "").replace(/^[-_]+/, ""));
  assert.equal(names[1], names[0]);
  assert.equal(resolvedConfig({ COMPOSE_PROJECT_NAME: "other" }).name, "other");
});

test(
  "the project, its policy and its models, the owner and the secrets are settings",
  { skip },
  () => {
    const { services } = resolvedConfig({
      YARD_PROJECT: "/srv/mine",
      YARD_WORKSPACE: "/srv/files",
      YARD_POLICY: "policy.yaml",
      YARD_MODELS: "models.json",
      YARD_ISSUERS: "issuers.yaml",
      YARD_OIDC_ISSUER: "https://login.example.com/",
      YARD_SCAN_INDICATORS: "bad.yaml",
      YARD_UID: "1000",
      ANTHROPIC_API_KEY: "canary",
    });
    for (const name of ["folders", "policy", "importer", "broker", "runner"]) {
      const service = services[name];
      assert.match(service?.user ?? "", /^1000:100\d\d$/, name);
      const project = service?.volumes?.find(({ target }) => target === "/config");
      assert.deepEqual([project?.source, project?.read_only], ["/srv/mine", true], name);
    }
    const environment = (name: string) => services[name]?.environment ?? {};
    assert.equal(environment("policy")["YARD_POLICY_FILE"], "/config/policy.yaml");
    assert.equal(environment("policy")["YARD_ISSUERS_FILE"], "/config/issuers.yaml");
    assert.equal(environment("gateway")["YARD_OIDC_ISSUER"], "https://login.example.com/");
    assert.equal(environment("runner")["YARD_MODELS_FILE"], "/config/models.json");
    assert.equal(environment("runner")["ANTHROPIC_API_KEY"], "canary");
    assert.equal(environment("broker")["YARD_KEYS_DIR"], "/keys");
    assert.equal(environment("gateway")["YARD_KEYS_DIR"], "/keys");
    // The group that may read the keys of masks.
    assert.deepEqual(
      Object.keys(services).filter((name) => services[name]?.group_add?.includes("10022")),
      ["broker", "policy", "toolbox"],
    );
    assert.equal(environment("importer")["YARD_SCAN_INDICATORS"], "/config/bad.yaml");
    assert.equal(environment("importer")["YARD_SCAN_SUPPRESSIONS"], "");
    assert.equal(environment("policy")["YARD_APPROVE_OWN"], "none");
    // Without the settings the variable is empty, which counts as unset.
    assert.equal(resolvedConfig().services["runner"]?.environment?.["YARD_MODELS_FILE"], "");
  },
);

test("the project's triggers, channels and hooks are in the containers that read them, and their absence is said before", async () => {
  const composition: { services: Record<string, ComposeService> } = parse(
    await readFile(`${root}docker-compose.yml`, "utf8"),
    { merge: true },
  );
  for (const [name, variable, setting, secrets] of [
    ["scheduler", "YARD_TRIGGERS_FILE", "YARD_TRIGGERS", null],
    ["channels", "YARD_CHANNELS_FILE", "YARD_CHANNELS", "channels.env"],
    ["gateway", "YARD_HOOKS_FILE", "YARD_HOOKS", "hooks.env"],
  ] as const) {
    const { environment = {}, volumes = [], env_file = [] } = composition.services[name] ?? {};
    assert.equal(environment[variable], `\${${setting}:+/config/}\${${setting}:-}`);
    const mount = volumes.find(({ target }) => target === "/config");
    assert.deepEqual([mount?.type, mount?.read_only], ["bind", true], name);
    assert.deepEqual(
      env_file,
      secrets === null ? [] : [{ path: secrets, required: false }],
      `${name}: what the file names as variables`,
    );
    const checked = composition.services["folders"]?.environment ?? {};
    assert.equal(checked[setting.replace("YARD_", "")], `\${${setting}:-}`);
  }
});

test("config-tools.yml gives the toolbox alone the project, to read", async () => {
  const more: { services: Record<string, ComposeService> } = parse(
    await readFile(`${root}deploy/docker/config-tools.yml`, "utf8"),
  );
  assert.deepEqual(Object.keys(more.services), ["toolbox"]);
  const { environment, volumes } = more.services["toolbox"] ?? {};
  const [mount, ...others] = volumes ?? [];
  assert.deepEqual(others, []);
  assert.deepEqual([mount?.target, mount?.read_only], [environment?.["YARD_CONFIG_DIR"], true]);
  // The same folder as everywhere.
  const composition = parse(await readFile(`${root}docker-compose.yml`, "utf8"), { merge: true });
  assert.deepEqual(mount, composition["x-project"]);
});

test("programs that MCP servers fetch have a home that they can be run from", { skip }, () => {
  const broker = resolvedConfig().services["broker"];
  const home = broker?.environment?.["HOME"];
  const volume = broker?.volumes?.find(({ target }) => target === home);
  assert.deepEqual([volume?.type, volume?.read_only ?? false], ["volume", false]);
  assert.match(broker?.tmpfs?.[0] ?? "", /^\/tmp:.*\bexec\b/);
});

test(
  "sandbox.yml lets the toolbox alone make namespaces, and nothing else changes",
  { skip },
  () => {
    const before = resolvedConfig().services;
    const { services } = resolvedConfig({}, ["deploy/docker/sandbox.yml"]);
    assert.equal(services["toolbox"]?.environment?.["YARD_SANDBOX"], "require");
    assert.ok(services["toolbox"]?.security_opt?.includes("seccomp=unconfined"));
    assert.ok(services["toolbox"]?.security_opt?.includes("no-new-privileges:true"));
    for (const [name, service] of Object.entries(services))
      if (name !== "toolbox") assert.deepEqual(service, before[name], name);
  },
);

test("runtimes.yml gives the runner alone another image, more room and sandboxes", { skip }, () => {
  const before = resolvedConfig().services;
  const { services } = resolvedConfig({}, ["deploy/docker/runtimes.yml"]);
  const runner = services["runner"];
  assert.equal(runner?.image, "switchyard:dev-runtimes");
  assert.equal(runner.build?.target, "runtimes");
  assert.equal(runner.build.args?.["SERVICES_IMAGE"], "services");
  const options = runner.security_opt ?? [];
  assert.ok(options.includes("seccomp=unconfined"));
  assert.ok(options.includes("no-new-privileges:true"));
  assert.ok(Number(runner.mem_limit) > Number(before["runner"]?.mem_limit));
  for (const [name, service] of Object.entries(services))
    if (name !== "runner") assert.deepEqual(service, before[name], name);
});

test("the image of runtimes has the versions of the CLIs that are tried, each where it is linked from", async () => {
  const tried = await readFile(`${root}services/agent-runner/test-fixtures/coding-clis.ts`, "utf8");
  const dockerfile = await readFile(`${root}deploy/docker/Dockerfile`, "utf8");
  const packages = [
    ...tried.matchAll(/name: "([^"]+)",\n\s+version: "([^"]+)",\n\s+file: [`"](.+)[`"]/g),
  ];
  assert.equal(packages.length, 4);
  for (const [, name, version, file = ""] of packages) {
    assert.ok(dockerfile.includes(`${name}@${version}`), name);
    assert.ok(dockerfile.includes(file.replace("${machine}", "$machine")), file);
  }
});

test("every service logs in to Redis as itself, with a password of its own from a file", async () => {
  const composition: { services: Record<string, ComposeService> } = parse(
    await readFile(`${root}docker-compose.yml`, "utf8"),
    { merge: true },
  );
  const handedOut = String(composition.services["keys"]?.entrypoint);
  for (const { name } of serviceRedisUsers) {
    const service = composition.services[name];
    const environment = service?.environment ?? {};
    assert.equal(environment["YARD_REDIS_URL"], `redis://${name}@redis:6379`);
    assert.equal(environment["YARD_KEYS_DIR"], "/keys");
    const group = service?.user?.split(":").at(-1) ?? "";
    assert.match(handedOut, new RegExp(`give ${group} .*\\b${name}\\.redis\\b`), name);
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

test("the variants for MCP servers and coding CLIs add to the image, and keep its user and its start", async () => {
  const dockerfile = await readFile(`${root}deploy/docker/Dockerfile`, "utf8");
  assert.match(dockerfile, /^ARG SERVICES_IMAGE=services$/m);
  const stages = dockerfile.split(/^FROM /m);
  for (const name of ["mcp", "runtimes"]) {
    const begin = `\${SERVICES_IMAGE} AS ${name}\n`;
    const stage = stages.find((text) => text.startsWith(begin)) ?? assert.fail(name);
    assert.equal(stage.match(/^USER .+$/gm)?.at(-1), "USER 10001:10001");
    assert.doesNotMatch(stage, /^(?:ENTRYPOINT|CMD)/m);
  }
  assert.equal(stages.at(-1), "services\n", "what a build without a target makes");
});

test("what the image installs is for every processor: no install script and no native code", async () => {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    await readFile(`${root}package-lock.json`, "utf8"),
  );
  const installed = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path.includes("node_modules/") && !dev && !devOptional,
  );
  assert.ok(installed.length > 100);
  const bound = installed.filter(([, { hasInstallScript, cpu, os }]) =>
    Boolean(hasInstallScript ?? cpu ?? os),
  );
  assert.deepEqual(
    bound.map(([path]) => path),
    [],
  );
  // The files of none of them contain a program either, under any name.
  const programs = installed.flatMap(([path]) =>
    globSync("**", { cwd: root + path, withFileTypes: true, exclude: isNested })
      .filter((entry) => entry.isFile() && !TEXT.test(entry.name))
      .map(({ parentPath, name }) => join(parentPath, name))
      .filter(isProgram),
  );
  assert.deepEqual(programs, []);
});

const TEXT = /\.(?:[cm]?[jt]s|json|map|md|txt|ya?ml)$/;
/** Magic numbers of Linux, macOS (two byte orders, and for several processors), Windows, and archives of any. */
const MAGIC = ["7f454c46", "feedface", "feedfacf", "cefaedfe", "cffaedfe", "cafebabe", "4d5a"];

function isNested({ name }: Dirent): boolean {
  return name === "node_modules";
}

function isProgram(file: string): boolean {
  const begin = Buffer.alloc(8);
  const opened = openSync(file, "r");
  readSync(opened, begin, 0, begin.length, 0);
  closeSync(opened);
  const hex = begin.toString("hex");
  return hex === "213c617263683e0a" || MAGIC.some((magic) => hex.startsWith(magic));
}

interface LockedPackage {
  dev?: boolean;
  devOptional?: boolean;
  hasInstallScript?: boolean;
  cpu?: string[];
  os?: string[];
}

test("NATS and Redis are configured to keep what they acknowledge", async () => {
  const redis = await readFile(`${root}deploy/redis/redis.conf`, "utf8");
  assert.match(redis, /^appendfsync always$/m);
  assert.match(redis, /^maxmemory-policy noeviction$/m);
  for (const file of [
    "deploy/nats/nats.conf",
    "deploy/helm/switchyard/charts/single-nats/files/nats.conf",
  ]) {
    assert.match(await readFile(root + file, "utf8"), /sync_interval: always/, file);
  }
  const nodes = await readFile(`${root}deploy/k8s/overlays/dev/single-nodes.yaml`, "utf8");
  const manifest = readManifests(nodes).find(
    ({ kind, metadata }) => kind === "StatefulSet" && metadata.name === "redis",
  );
  const args = dig(manifest, "spec.template.spec.containers.0.args");
  assert.ok(Array.isArray(args));
  assert.ok(args.includes("always") && args.includes("noeviction"));
});
