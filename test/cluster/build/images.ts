import { cp, mkdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LAST_VERSION } from "../../compatibility/versions.ts";
import { checkOut, whyNoCheckout } from "../../lib/old-checkout.ts";
import { repository } from "../settings.ts";
import { runProgram } from "../run-program.ts";
import { startDocker, type Docker } from "./docker.ts";

/** The names under which the chart's values expect the images, that of the version before this one, and those that the cluster itself needs. */
export const services = "switchyard:dev";
export const older = "switchyard:before";
export const nats = "nats:2.15-alpine";
export const redis = "redis:7.4-alpine";
const node = "switchyard-cluster/node:24";
const pause = "switchyard-cluster/pause:1";
const dns = "switchyard-cluster/coredns:1";

/** Images of one program each, which pods of the cluster itself run. */
const addons = ["metrics-server", "keda", "keda-adapter"] as const;

/** The name of an addon's image. */
export const addonImage = (name: (typeof addons)[number]): string => `switchyard-cluster/${name}:1`;

/**
 * Builds the images of this working tree, and those that a registry would have, with a Docker daemon that ends with this function. The image of the services comes from the project's Dockerfile, its branch for a base without tini and bubblewrap.
 */
export async function buildImages(cache: string, log: (line: string) => void): Promise<void> {
  const docker = await startDocker(cache, { network: "machine" });
  try {
    const { base, services: own, addons: more } = archives(cache);
    const isBuilt = await exists(base);
    if (!isBuilt) await buildDebian(docker, cache);
    const targets = [
      ["-t", services],
      ["-t", "switchyard-mcp:dev", "--target", "mcp"],
      ["-t", "switchyard-runtimes:dev", "--target", "runtimes"],
    ];
    for (const target of targets) {
      const began = performance.now();
      const wanted = [...serviceBuild, ...target, ...inContext(repository)];
      await docker.run(["build", ...wanted], 1_800_000);
      log(`${target[1]} is built, in ${seconds(began)} s`);
    }
    await docker.run(["save", "-o", own, services]);
    await buildOlder(docker, cache, log);
    if (!isBuilt) {
      await buildOthers(docker, cache);
      await docker.run(["save", "-o", base, nats, redis, pause, dns]);
      log("images of NATS, Redis, CoreDNS and the sandbox are built");
    }
    const built = await programsThere(cache);
    if (built.length > 0 && !(await exists(more))) {
      for (const name of built)
        await buildProgram(docker, cache, { name, image: addonImage(name), user: "65532:65532" });
      await docker.run(["save", "-o", more, ...built.map(addonImage)]);
      log(`images of ${built.join(", ")} are built`);
    }
  } finally {
    await docker.stop();
  }
}

/** The archives that `buildImages` has written. */
export async function archivesOf(cache: string): Promise<string[]> {
  const { base, services: own, addons: more, older: before } = archives(cache);
  const others = await Promise.all([more, before].map(exists));
  return [base, own, ...[more, before].filter((_, index) => others[index])];
}

/** The folder for the code of the version that `switchyard:before` is built from. */
export const olderCode = (cache: string): string => join(cache, "older");

/** Images that change seldom, the image of the services and that of the version before, and the programs that a cluster may have beside its own. */
function archives(cache: string): Record<"base" | "services" | "older" | "addons", string> {
  const at = (name: string): string => join(cache, "images", `${name}.tar`);
  return {
    base: at("base"),
    services: at("services"),
    older: at("older"),
    addons: at("addons"),
  };
}

/** Leaves the code of the version before in the cache, and its image in an archive. Without that version in the clone's history neither is there. */
async function buildOlder(
  docker: Docker,
  cache: string,
  log: (line: string) => void,
): Promise<void> {
  const code = olderCode(cache);
  const archive = archives(cache).older;
  await rm(code, { recursive: true, force: true });
  await rm(archive, { force: true });
  const reason = await whyNoCheckout(LAST_VERSION);
  if (reason !== null) {
    log(`${older} is not built: ${reason}`);
    return;
  }
  const began = performance.now();
  await mkdir(code, { recursive: true });
  await checkOut(LAST_VERSION, code);
  await docker.run(["build", ...serviceBuild, "-t", older, ...inContext(code)], 1_800_000);
  await docker.run(["save", "-o", archive, older]);
  log(`${older} (${LAST_VERSION}) is built, in ${seconds(began)} s`);
}

const serviceBuild = ["--network", "host", "--build-arg", `NODE_IMAGE=${node}`];
const inContext = (code: string): string[] => ["-f", join(code, "deploy/docker/Dockerfile"), code];
const seconds = (began: number): number => Math.round((performance.now() - began) / 1_000);

async function programsThere(cache: string): Promise<(typeof addons)[number][]> {
  const found = await Promise.all(addons.map((name) => exists(join(cache, "bin", name))));
  return addons.filter((_, index) => found[index]);
}

/** Debian from its packages, and what the official image of Node.js has beside it: node, npm and npx. */
async function buildDebian(docker: Docker, cache: string): Promise<void> {
  const context = await emptyContext(cache);
  const archive = join(context, "debian.tar");
  const leftOut = ["./var/lib/apt/lists/*", "./usr/share/doc/*", "./var/cache/apt/*", "./dev/*"];
  const excludes = leftOut.map((path) => `--exclude=${path}`);
  await runProgram(["tar", "-C", join(cache, "bookworm"), ...excludes, "-cf", archive, "."]);
  await docker.run(["import", archive, "switchyard-cluster/debian:bookworm"]);
  await rm(archive);
  await cp(process.execPath, join(context, "node"));
  const npm = (await runProgram(["which", "npm"])).trim();
  await cp(dirname(dirname(await realpath(npm))), join(context, "npm"), { recursive: true });
  // A registry behind an authority of this machine's own is known by these certificates.
  await cp("/etc/ssl/certs/ca-certificates.crt", join(context, "ca.crt"));
  await build(docker, context, node, dockerfiles[node]);
}

async function buildOthers(docker: Docker, cache: string): Promise<void> {
  const context = await emptyContext(cache);
  await cp(join(cache, "sid/usr/sbin/nats-server"), join(context, "nats-server"));
  await writeFile(join(context, "entry-nats.sh"), entryOf("nats-server"), { mode: 0o755 });
  await writeFile(join(context, "entry-redis.sh"), entryOf("redis-server"), { mode: 0o755 });
  for (const name of [nats, redis] as const) await build(docker, context, name, dockerfiles[name]);
  await buildProgram(docker, cache, { name: "pause", image: pause });
  await buildProgram(docker, cache, { name: "coredns", image: dns });
}

/** An image with nothing but a program. */
async function buildProgram(
  docker: Docker,
  cache: string,
  { name, image, user }: { name: string; image: string; user?: string },
): Promise<void> {
  const context = await emptyContext(cache);
  await cp(join(cache, "bin", name), join(context, name));
  const lines = ["FROM scratch", `COPY ${name} /${name}`, `ENTRYPOINT ["/${name}"]`];
  await build(docker, context, image, [...lines, ...(user === undefined ? [] : [`USER ${user}`])]);
}

async function emptyContext(cache: string): Promise<string> {
  const context = join(cache, "docker/context");
  await rm(context, { recursive: true, force: true });
  await mkdir(context, { recursive: true });
  return context;
}

async function build(
  docker: Docker,
  context: string,
  name: string,
  lines: readonly string[],
): Promise<void> {
  await writeFile(join(context, "Dockerfile"), lines.join("\n"));
  await docker.run(["build", "--network", "host", "-t", name, context]);
}

/** The entry points of the official images: options alone are options of the server. */
const entryOf = (server: string): string =>
  `#!/bin/sh\ncase "$1" in -*) set -- ${server} "$@" ;; esac\nexec "$@"\n`;

const dockerfiles = {
  [node]: [
    "FROM switchyard-cluster/debian:bookworm",
    "COPY ca.crt /etc/ssl/certs/ca-certificates.crt",
    "COPY node /usr/local/bin/node",
    "COPY npm /usr/local/lib/node_modules/npm",
    "RUN cd /usr/local/bin && ln -s ../lib/node_modules/npm/bin/npm-cli.js npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js npx",
    "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt",
    'CMD ["node"]',
  ],
  [nats]: [
    "FROM switchyard-cluster/debian:bookworm",
    "RUN apt-get update && apt-get install -y --no-install-recommends wget",
    "COPY nats-server entry-nats.sh /usr/local/bin/",
    'ENTRYPOINT ["entry-nats.sh"]',
  ],
  [redis]: [
    "FROM switchyard-cluster/debian:bookworm",
    "RUN apt-get update && apt-get install -y --no-install-recommends redis-server",
    "COPY entry-redis.sh /usr/local/bin/",
    'ENTRYPOINT ["entry-redis.sh"]',
  ],
} as const;

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
