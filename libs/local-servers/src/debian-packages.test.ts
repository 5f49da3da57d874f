import assert from "node:assert/strict";
import { access, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";

import { unpackDebianPackage } from "./debian-packages.ts";
import type { CommandResult, RunCommand } from "./run-command.ts";
import { SERVER_KINDS } from "./server-kinds.ts";
import { testDirectory } from "@switchyard/testing/test-servers";

const OK: CommandResult = { code: 0, stdout: "", stderr: "" };
const DEBIAN =
  'ID=debian\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n';
const UBUNTU = 'ID=ubuntu\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu 24.04 LTS"\n';
const SOURCES = "deb http://mirror.example/debian bookworm main\n";

/** A system whose apt answers from `apt`, which sees the tool, its arguments and its working directory. */
async function system(setup: {
  osRelease: string;
  sources?: string;
  apt: (
    tool: string,
    args: readonly string[],
    cwd: string,
  ) => CommandResult | Promise<CommandResult>;
}) {
  const root = await testDirectory();
  await mkdir(join(root, "etc", "apt"), { recursive: true });
  await writeFile(join(root, "etc", "os-release"), setup.osRelease);
  await writeFile(join(root, "etc", "apt", "sources.list"), setup.sources ?? SOURCES);
  const run: RunCommand = async (tool, args, { cwd = "" }) => setup.apt(tool, args, cwd);
  const cache = join(root, "cache", "switchyard");
  const logged: string[] = [];
  return {
    cache,
    logged,
    options: {
      env: { XDG_CACHE_HOME: join(root, "cache") },
      log: (line: string) => void logged.push(line),
      run,
      etcDir: join(root, "etc"),
      platform: "linux" as const,
    },
  };
}

function candidate(version: string): CommandResult {
  return { ...OK, stdout: `pkg:\n  Installed: (none)\n  Candidate: ${version}\n` };
}

/** `dpkg-deb -x archive root` of a package that holds one program in usr/sbin. */
async function unpack(args: readonly string[], program: string): Promise<CommandResult> {
  const file = join(args[2] ?? "", "usr", "sbin", program);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, "", { mode: 0o755 });
  return OK;
}

test("on Debian nats-server comes from sid, through the system's own mirror and nothing else", async () => {
  let list = "";
  const { options, cache } = await system({
    osRelease: DEBIAN,
    apt: async (tool, args, cwd) => {
      if (tool === "dpkg-deb") return unpack(args, "nats-server");
      if (args[0] === "--version") return { ...OK, stdout: "nats-server: v2.15.1" };
      if (args.includes("policy")) return candidate("2.15.1-1");
      if (args.includes("update"))
        list = await readFile(join(cwd, "..", "..", "sources.list"), "utf8");
      if (args.includes("download"))
        await writeFile(join(cwd, "nats-server_2.15.1-1_amd64.deb"), "");
      return OK;
    },
  });
  const found = await unpackDebianPackage({ ...options, kind: SERVER_KINDS.nats });
  assert.deepEqual(found, {
    binary: join(cache, "bin", "nats-server"),
    version: "2.15.1",
    source: "Debian sid, http://mirror.example/debian",
  });
  assert.match(list, /^deb (\[signed-by=\/\S+\] )?http:\/\/mirror\.example\/debian sid main\n$/);
  assert.deepEqual(await readdir(join(cache, "packages")), ["nats-server-2.15.1-1"]);
  const starter = await readFile(join(cache, "bin", "nats-server"), "utf8");
  assert.equal(
    starter,
    `#!/bin/sh\nexec '${cache}/packages/nats-server-2.15.1-1/usr/sbin/nats-server' "$@"\n`,
  );
});

test("a version that is too old is not even downloaded", async () => {
  const asked: string[] = [];
  const { options } = await system({
    osRelease: UBUNTU,
    apt: (tool, args) => {
      asked.push(`${tool} ${args[2]}`);
      return args.includes("policy") ? candidate("2.10.7-1ubuntu0.24.04.2") : OK;
    },
  });
  assert.deepEqual(await unpackDebianPackage({ ...options, kind: SERVER_KINDS.nats }), {
    reason: "nats-server of Ubuntu 24.04 LTS packages is 2.10.7, 2.14.0 or newer is needed",
  });
  assert.deepEqual(asked, ["apt-get update", "apt-cache policy"]);
});

/** The output of `apt-get --print-uris`; a security mirror may state no digest. */
const URIS = `After this operation, 6910 kB of additional disk space will be used.
'http://deb.debian.org/pool/libjemalloc2_5.3.0-1_amd64.deb' libjemalloc2_5.3.0-1_amd64.deb 275000 MD5Sum:0f56
'http://deb.debian.org/pool/redis-tools_7_amd64.deb' redis-tools_5%3a7.0.15_amd64.deb 991988 
`;

test("Redis comes from the system's own sources with the libraries that are missing, and the log has their size", async () => {
  const commands: string[] = [];
  const { options, cache, logged } = await system({
    osRelease: DEBIAN,
    apt: async (tool, args, cwd) => {
      commands.push([tool, ...args.slice(2)].join(" "));
      if (tool === "dpkg-deb") {
        await mkdir(join(args[2] ?? "", "usr/lib/x86_64-linux-gnu"), { recursive: true });
        return unpack(args, "redis-server");
      }
      if (args[0] === "--version") return { ...OK, stdout: "Redis server v=7.0.15 sha=0" };
      if (args.includes("policy")) return candidate("5:7.0.15-1~deb12u10");
      if (args.includes("--print-uris")) return { ...OK, stdout: URIS };
      if (args.includes("install")) await writeFile(join(cwd, "redis-server_7_amd64.deb"), "");
      return OK;
    },
  });
  const found = await unpackDebianPackage({ ...options, kind: SERVER_KINDS.redis });
  assert.ok("binary" in found);
  assert.equal(
    commands.findLast((command) => command.includes("install")),
    "apt-get install --quiet --yes --download-only --reinstall --no-install-recommends redis-server redis-tools",
  );
  assert.ok(
    logged.includes(
      "redis: to do without, install redis-server 7.0.0 or valkey-server 7.2.0 or newer, or name its directory in YARD_BIN_DIR, or set YARD_REDIS_URL to the address of one",
    ),
    logged.join("\n"),
  );
  assert.ok(logged.includes("redis: downloading 5:7.0.15-1~deb12u10, 1.3 MB"), logged.join("\n"));
  const starter = await readFile(found.binary, "utf8");
  const home = `${cache}/packages/redis-server-5_7.0.15-1~deb12u10`;
  assert.ok(
    starter.includes(
      `LD_LIBRARY_PATH='${home}/usr/lib/x86_64-linux-gnu'\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\n`,
    ),
  );
});

test("a package that does not run here is reported and leaves nothing behind", async () => {
  const { options, cache } = await system({
    osRelease: DEBIAN,
    apt: async (tool, args, cwd) => {
      if (tool === "dpkg-deb") return unpack(args, "nats-server");
      if (args[0] === "--version")
        return { code: 1, stdout: "", stderr: "version `GLIBC_2.99' not found" };
      if (args.includes("policy")) return candidate("2.15.1-1");
      if (args.includes("download")) await writeFile(join(cwd, "nats-server.deb"), "");
      return OK;
    },
  });
  const found = await unpackDebianPackage({ ...options, kind: SERVER_KINDS.nats });
  assert.ok("reason" in found);
  assert.match(
    found.reason,
    /^nats-server 2\.15\.1-1 of Debian sid.* does not run here: .*GLIBC_2\.99/,
  );
  assert.deepEqual(await readdir(join(cache, "packages")), []);
  await assert.rejects(access(join(cache, "bin")));
});

test("reports why packages cannot be fetched: no mirror, no network, no apt", async () => {
  const noMirror = await system({
    osRelease: DEBIAN,
    sources: "deb https://packages.example/apt stable main\n",
    apt: () => OK,
  });
  assert.match(
    JSON.stringify(await unpackDebianPackage({ ...noMirror.options, kind: SERVER_KINDS.nats })),
    /no Debian mirror in /,
  );

  const noNetwork = await system({
    osRelease: DEBIAN,
    apt: (_tool, args) =>
      args.includes("policy")
        ? OK
        : { code: 100, stdout: "", stderr: "E: Could not resolve 'mirror.example'" },
  });
  assert.deepEqual(await unpackDebianPackage({ ...noNetwork.options, kind: SERVER_KINDS.nats }), {
    reason:
      "Debian sid, http://mirror.example/debian offers no nats-server (apt-get update: E: Could not resolve 'mirror.example')",
  });

  const other = await testDirectory();
  const result = await unpackDebianPackage({
    ...noNetwork.options,
    kind: SERVER_KINDS.nats,
    etcDir: other,
  });
  assert.deepEqual(result, { reason: "this system has no apt" });
});
